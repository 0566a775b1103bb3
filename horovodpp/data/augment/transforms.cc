// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/transforms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/draws.h"
#include "horovodpp/data/augment/image_view.h"
#include "horovodpp/data/augment/tones.h"

namespace hvd::data::augment {
namespace {

using autograd::Generator;

constexpr int kTries = 10;  // As torchvision.

void require(bool good, const char* function, const char* rule) {
  if (!good) throw InvalidArgument(absl::StrCat(function, ": ", rule));
}

void check_probability(const char* function, double probability) {
  require(probability >= 0 && probability <= 1, function,
          "the probability is in [0, 1]");
}

void check_ranges(const char* function, const Range& area, const Range& ratio) {
  require(area.low >= 0 && area.low <= area.high && area.high <= 1, function,
          "areas are in [0, 1], the least first");
  require(ratio.low > 0 && ratio.low <= ratio.high && ratio.high <= 1e6,
          function, "ratios are positive, the least first");
}

// A box of a random share of the image's area, whose sides have a random ratio.
// None if no try fits into `most`.
struct BoxOptions {
  Range area;
  Range ratio;  // Of the first side to the second.
  bool is_width_first = true;
};
std::optional<Box> draw_box(const Tensor& image, const BoxOptions& options,
                            const SizeOptions& most, Generator& random) {
  const std::int64_t height = image.size(1);
  const std::int64_t width = image.size(2);
  const auto whole = static_cast<double>(height * width);
  for (int i = 0; i < kTries; ++i) {
    const double area = whole * draw_uniform(random, options.area);
    const double ratio = draw_ratio(random, options.ratio);
    const auto first = std::llround(std::sqrt(area * ratio));
    const auto second = std::llround(std::sqrt(area / ratio));
    const auto box_width = options.is_width_first ? first : second;
    const auto box_height = options.is_width_first ? second : first;
    if (box_width <= 0 || box_width > most.width || box_height <= 0 ||
        box_height > most.height) {
      continue;
    }
    const std::int64_t top = draw_below(random, height - box_height + 1);
    const std::int64_t left = draw_below(random, width - box_width + 1);
    return Box{
        .top = top, .left = left, .height = box_height, .width = box_width};
  }
  return std::nullopt;
}

// The largest box in the middle with a permitted ratio of width to height.
Box middle_box(const Tensor& image, const Range& ratio) {
  const std::int64_t height = image.size(1);
  const std::int64_t width = image.size(2);
  const double own = static_cast<double>(width) / static_cast<double>(height);
  const double wanted = std::clamp(own, ratio.low, ratio.high);
  Box box{.height = height, .width = width};
  if (own < ratio.low) {
    box.height = std::llround(static_cast<double>(width) / wanted);
  } else if (own > ratio.high) {
    box.width = std::llround(static_cast<double>(height) * wanted);
  }
  box.height = std::max<std::int64_t>(box.height, 1);
  box.width = std::max<std::int64_t>(box.width, 1);
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

double draw_factor(Generator& random, double spread) {
  return draw_uniform(
      random, {.low = std::max(0.0, 1.0 - spread), .high = 1.0 + spread});
}

}  // namespace

ImageTransform random_horizontal_flip(double probability) {
  check_probability("random_horizontal_flip", probability);
  return [probability](const Tensor& image, Generator& random) {
    return draw_chance(random, probability) ? hflip(image) : image;
  };
}

ImageTransform random_vertical_flip(double probability) {
  check_probability("random_vertical_flip", probability);
  return [probability](const Tensor& image, Generator& random) {
    return draw_chance(random, probability) ? vflip(image) : image;
  };
}

ImageTransform random_crop(const RandomCropOptions& options) {
  require(options.height > 0 && options.width > 0 && options.padding >= 0 &&
              options.padding < (1 << 20),
          "random_crop", "the size is positive, the padding not negative");
  return [options](const Tensor& image, Generator& random) {
    check_image(image);
    const std::int64_t rows =
        image.size(1) + 2 * options.padding - options.height;
    const std::int64_t columns =
        image.size(2) + 2 * options.padding - options.width;
    if (rows < 0 || columns < 0) {
      throw InvalidArgument(absl::StrCat(
          "random_crop: an image of ", image.size(1), " x ", image.size(2),
          " with a padding of ", options.padding, " is smaller than the crop, ",
          options.height, " x ", options.width,
          "; resize it first, or raise the padding"));
    }
    const std::int64_t top = draw_below(random, rows + 1) - options.padding;
    const std::int64_t left = draw_below(random, columns + 1) - options.padding;
    return crop(image, {.top = top,
                        .left = left,
                        .height = options.height,
                        .width = options.width,
                        .fill = options.fill});
  };
}

ImageTransform random_resized_crop(const RandomResizedCropOptions& options) {
  const Range area{.low = options.least_area, .high = options.most_area};
  const Range ratio{.low = options.least_ratio, .high = options.most_ratio};
  check_ranges("random_resized_crop", area, ratio);
  require(options.height > 0 && options.width > 0, "random_resized_crop",
          "the size is positive");
  return [options, area, ratio](const Tensor& image, Generator& random) {
    check_image(image);
    const Box box =
        draw_box(image, {.area = area, .ratio = ratio},
                 {.height = image.size(1), .width = image.size(2)}, random)
            .value_or(middle_box(image, ratio));
    return resized_crop(image, {.top = box.top,
                                .left = box.left,
                                .height = box.height,
                                .width = box.width,
                                .to_height = options.height,
                                .to_width = options.width,
                                .antialias = options.antialias});
  };
}

ImageTransform color_jitter(const ColorJitterOptions& options) {
  require(options.brightness >= 0 && options.contrast >= 0 &&
              options.saturation >= 0 && options.hue >= 0,
          "color_jitter", "no option is negative");
  require(options.hue <= 0.5, "color_jitter", "the hue is at most 0.5");
  return [options](const Tensor& image, Generator& random) {
    std::array<std::int64_t, 4> order{};
    random.permutation(order);
    Tensor result = image;
    for (const std::int64_t step : order) {
      if (step == 0 && options.brightness > 0) {
        result =
            adjust_brightness(result, draw_factor(random, options.brightness));
      } else if (step == 1 && options.contrast > 0) {
        result = adjust_contrast(result, draw_factor(random, options.contrast));
      } else if (step == 2 && options.saturation > 0) {
        result =
            adjust_saturation(result, draw_factor(random, options.saturation));
      } else if (step == 3 && options.hue > 0) {
        const Range range{.low = -options.hue, .high = options.hue};
        result = adjust_hue(result, draw_uniform(random, range));
      }
    }
    return result;
  };
}

ImageTransform random_erasing(const RandomErasingOptions& options) {
  const Range area{.low = options.least_area, .high = options.most_area};
  const Range ratio{.low = options.least_ratio, .high = options.most_ratio};
  check_probability("random_erasing", options.probability);
  check_ranges("random_erasing", area, ratio);
  return [options, area, ratio](const Tensor& image, Generator& random) {
    check_image(image);
    if (!draw_chance(random, options.probability)) return image;
    const auto box = draw_box(
        image, {.area = area, .ratio = ratio, .is_width_first = false},
        {.height = image.size(1) - 1, .width = image.size(2) - 1}, random);
    if (!box) return image;
    return erase(image, {.top = box->top,
                         .left = box->left,
                         .height = box->height,
                         .width = box->width,
                         .fill = options.fill});
  };
}

ImageTransform resize(const ResizeOptions& options) {
  return [options](const Tensor& image, Generator&) {
    return resize(image, options);
  };
}

ImageTransform center_crop(const SizeOptions& options) {
  return [options](const Tensor& image, Generator&) {
    return center_crop(image, options);
  };
}

ImageTransform to_float() {
  return [](const Tensor& image, Generator&) { return to_float(image); };
}

ImageTransform normalize(const NormalizeOptions& options) {
  return [options](const Tensor& image, Generator&) {
    return normalize(image, options);
  };
}

}  // namespace hvd::data::augment
