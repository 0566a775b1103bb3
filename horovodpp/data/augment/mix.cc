// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/mix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/draws.h"
#include "horovodpp/data/augment/image_view.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data::augment {
namespace {

using autograd::Generator;

void check_options(const char* function, const MixOptions& options) {
  if (options.num_classes > 0 && options.alpha > 0 && options.alpha < 1e6) {
    return;
  }
  throw InvalidArgument(absl::StrCat(function, ": num_classes ",
                                     options.num_classes, " and alpha ",
                                     options.alpha, " must be positive"));
}

void check_batch(const char* function, const std::vector<Tensor>& batch) {
  if (batch.size() == 2 && batch[0].defined() && batch[1].defined() &&
      batch[0].dim() == 4 && batch[0].num_elements() > 0 &&
      batch[1].dim() == 1 && batch[1].dtype() == DType::kI64 &&
      batch[1].size(0) == batch[0].size(0)) {
    return;
  }
  throw InvalidArgument(absl::StrCat(
      function, ": a batch is images, [n, channels, height, width], and their ",
      "labels, int64[n]",
      batch.empty() || !batch[0].defined()
          ? std::string()
          : absl::StrCat("; the first tensor is ", batch[0].describe())));
}

// The share of each image's own label goes to its class, the rest to the class
// of the image before.
Tensor mixed_labels(const Tensor& labels, std::int64_t num_classes,
                    double share) {
  const auto classes = labels.to_vector<std::int64_t>();
  const auto n = static_cast<std::int64_t>(classes.size());
  Tensor mixed = zeros({n, num_classes});
  auto* row = mixed.data<float>();
  for (std::size_t i = 0; i < classes.size(); ++i, row += num_classes) {
    const std::int64_t own = classes[i];
    const std::int64_t other = i > 0 ? classes[i - 1] : classes.back();
    for (const std::int64_t label : {own, other}) {
      if (label >= 0 && label < num_classes) continue;
      throw InvalidArgument(absl::StrCat("the label ", label, " is none of ",
                                         num_classes, " classes"));
    }
    row[own] += static_cast<float>(share);
    row[other] += static_cast<float>(1.0 - share);
  }
  return mixed;
}

// Calls mix(own, other) with each image of the result, a copy, and the image
// before it in the batch.
template <typename Mix>
Tensor mixed_images(const Tensor& images, Mix mix) {
  Tensor result = empty(images.shape(), {.dtype = images.dtype()});
  const std::int64_t n = images.size(0);
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor own = result.select(0, i);
    copy_image(images.select(0, i), own);
    mix(own, images.select(0, i > 0 ? i - 1 : n - 1));
  }
  return result;
}

// The box around a random point that covers the rest of `share`, cut at the
// edges of the image.
Box draw_cut(const Tensor& images, double share, Generator& random) {
  const std::int64_t height = images.size(2);
  const std::int64_t width = images.size(3);
  const std::int64_t x = draw_below(random, width);
  const std::int64_t y = draw_below(random, height);
  const double half = 0.5 * std::sqrt(1.0 - share);
  const auto half_width =
      static_cast<std::int64_t>(half * static_cast<double>(width));
  const auto half_height =
      static_cast<std::int64_t>(half * static_cast<double>(height));
  const std::int64_t left = std::max<std::int64_t>(x - half_width, 0);
  const std::int64_t top = std::max<std::int64_t>(y - half_height, 0);
  return {.top = top,
          .left = left,
          .height = std::min(y + half_height, height) - top,
          .width = std::min(x + half_width, width) - left};
}

}  // namespace

BatchTransform mixup(const MixOptions& options) {
  check_options("mixup", options);
  return [options](const std::vector<Tensor>& batch, Generator& random) {
    check_batch("mixup", batch);
    if (batch[0].dtype() != DType::kF32) {
      throw InvalidArgument(absl::StrCat("mixup: images are float32, not ",
                                         batch[0].describe(),
                                         "; apply to_float() first"));
    }
    const double share = draw_beta(random, options.alpha);
    const auto weight = static_cast<float>(share);
    const auto rest = static_cast<float>(1.0 - share);
    const Tensor mixed =
        mixed_images(batch[0], [&](const Tensor& own, const Tensor& other) {
          auto* to = own.data<float>();
          const auto from = view_of<const float>(other);
          for (std::int64_t c = 0; c < from.channels; ++c) {
            for (std::int64_t y = 0; y < from.height; ++y) {
              for (std::int64_t x = 0; x < from.width; ++x, ++to) {
                *to = rest * from.at(c, y, x) + weight * *to;
              }
            }
          }
        });
    return std::vector<Tensor>{
        mixed, mixed_labels(batch[1], options.num_classes, share)};
  };
}

BatchTransform cutmix(const MixOptions& options) {
  check_options("cutmix", options);
  return [options](const std::vector<Tensor>& batch, Generator& random) {
    check_batch("cutmix", batch);
    const Tensor& images = batch[0];
    const Box box = draw_cut(images, draw_beta(random, options.alpha), random);
    const auto cut = static_cast<double>(box.height * box.width);
    const double share =
        1.0 - cut / static_cast<double>(images.size(2) * images.size(3));
    if (cut == 0) {
      return std::vector<Tensor>{
          images, mixed_labels(batch[1], options.num_classes, 1.0)};
    }
    const auto part = [&](const Tensor& image) {
      return image.narrow(1, box.top, box.height)
          .narrow(2, box.left, box.width);
    };
    const Tensor mixed =
        mixed_images(images, [&](const Tensor& own, const Tensor& other) {
          copy_image(part(other), part(own));
        });
    return std::vector<Tensor>{
        mixed, mixed_labels(batch[1], options.num_classes, share)};
  };
}

}  // namespace hvd::data::augment
