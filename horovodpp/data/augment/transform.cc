// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/transform.h"

#include <cstddef>
#include <exception>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/image_view.h"
#include "horovodpp/kernel/workers.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data::augment {
namespace {

using autograd::Dims;

const Dims& order_of(Layout layout) {
  static const Dims kFirst{0, 1, 2, 3};
  static const Dims kLast{0, 3, 1, 2};  // From channels last to first.
  return layout == Layout::kNchw ? kFirst : kLast;
}

// Calls run(i) for [0, count) in threads; rethrows the exception of the least i.
template <typename Run>
void run_all(std::size_t count, std::int64_t cost, const Run& run) {
  std::vector<std::exception_ptr> errors(count);
  const auto guarded = [&](char&, std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    try {
      run(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  autograd::run_tasks(
      {.count = static_cast<std::int64_t>(count), .cost = cost},
      std::numeric_limits<std::int64_t>::max(), [] { return char{}; }, guarded);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void check_number(std::size_t images, std::size_t generators) {
  if (images == generators) return;
  throw InvalidArgument(
      absl::StrCat(images, " images and ", generators,
                   " generators; each image has a generator of its own"));
}

// The batch of `images`, in row-major order of `layout`.
Tensor batch_of(const std::vector<Tensor>& images, Layout layout) {
  Dims shape{static_cast<std::int64_t>(images.size())};
  for (const std::int64_t size : images[0].shape()) shape.push_back(size);
  for (const Tensor& image : images) {
    if (image.shape() != images[0].shape() ||
        image.dtype() != images[0].dtype()) {
      throw InvalidArgument(absl::StrCat(
          "transformed images of a batch differ: ", images[0].describe(),
          " and ", image.describe(), "; resize or crop them to one size"));
    }
  }
  if (layout == Layout::kNhwc) shape = {shape[0], shape[2], shape[3], shape[1]};
  Tensor batch = empty(shape, {.dtype = images[0].dtype()});
  const Tensor planes = batch.permute(order_of(layout));
  run_all(images.size(), images[0].num_elements(), [&](std::size_t i) {
    copy_image(images[i], planes.select(0, static_cast<std::int64_t>(i)));
  });
  return batch;
}

}  // namespace

ImageTransform compose(std::vector<ImageTransform> transforms) {
  return [transforms = std::move(transforms)](const Tensor& image,
                                              autograd::Generator& random) {
    Tensor result = image;
    for (const ImageTransform& transform : transforms) {
      result = transform(result, random);
    }
    return result;
  };
}

std::vector<Tensor> transform_images(
    const std::vector<Tensor>& images, const ImageTransform& transform,
    std::vector<autograd::Generator> generators) {
  check_number(images.size(), generators.size());
  std::vector<Tensor> results(images.size());
  if (images.empty()) return results;
  run_all(images.size(), images[0].num_elements(), [&](std::size_t i) {
    results[i] = transform(images[i], generators[i]);
    check_image(results[i]);
  });
  return results;
}

Tensor transform_batch(const Tensor& images, const ImageTransform& transform,
                       std::vector<autograd::Generator> generators,
                       Layout layout) {
  if (!images.defined() || images.dim() != 4 || images.size(0) == 0) {
    throw InvalidArgument(absl::StrCat(
        "a batch of images has four dimensions, and an image; this one is ",
        images.defined() ? images.describe() : "undefined"));
  }
  const Tensor planes = images.detach().permute(order_of(layout));
  std::vector<Tensor> inputs;
  for (std::int64_t i = 0; i < planes.size(0); ++i) {
    inputs.push_back(planes.select(0, i));
  }
  return batch_of(transform_images(inputs, transform, std::move(generators)),
                  layout);
}

}  // namespace hvd::data::augment
