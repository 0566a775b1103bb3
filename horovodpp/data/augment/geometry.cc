// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/functions.h"
#include "horovodpp/data/augment/image_view.h"
#include "horovodpp/data/augment/resample.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data::augment {
namespace {

// Sides longer than this are mistakes, and their products must not overflow.
constexpr std::int64_t kLongestSide = 1 << 20;

void check_size(const char* function, std::int64_t height, std::int64_t width) {
  if (height > 0 && width > 0 && height <= kLongestSide &&
      width <= kLongestSide) {
    return;
  }
  throw InvalidArgument(absl::StrCat(function, ": the size ", height, " x ",
                                     width, " is not positive, or huge"));
}

// A position of the view, mirrored or not.
struct Mirror {
  bool rows = false;
  bool columns = false;
};

Tensor mirrored(const Tensor& image, Mirror mirror) {
  return with_element(image, [&]<typename T>(T) {
    Tensor result = image_like(image, image.size(1), image.size(2));
    const auto from = view_of<const T>(image);
    const auto to = view_of<T>(result);
    for (std::int64_t y = 0; y < to.height; ++y) {
      const std::int64_t row = mirror.rows ? to.height - 1 - y : y;
      for (std::int64_t x = 0; x < to.width; ++x) {
        const std::int64_t column = mirror.columns ? to.width - 1 - x : x;
        for (std::int64_t c = 0; c < to.channels; ++c) {
          to.at(c, y, x) = from.at(c, row, column);
        }
      }
    }
    return result;
  });
}

// As Python's round() of a half.
std::int64_t half_of(std::int64_t n) {
  return static_cast<std::int64_t>(
      std::nearbyint(static_cast<double>(n) / 2.0));
}

// Where a crop of `part` of `whole` begins.
std::int64_t centered(std::int64_t whole, std::int64_t part) {
  return part > whole ? -((part - whole) / 2) : half_of(whole - part);
}

}  // namespace

Tensor hflip(const Tensor& image) { return mirrored(image, {.columns = true}); }

Tensor vflip(const Tensor& image) { return mirrored(image, {.rows = true}); }

Tensor crop(const Tensor& image, const CropOptions& options) {
  check_size("crop", options.height, options.width);
  return with_element(image, [&]<typename T>(T) {
    Tensor result = image_like(image, options.height, options.width);
    const auto from = view_of<const T>(image);
    const auto to = view_of<T>(result);
    const auto fill = autograd::scalar_to<T>(options.fill);
    for (std::int64_t y = 0; y < to.height; ++y) {
      const std::int64_t row = y + options.top;
      for (std::int64_t x = 0; x < to.width; ++x) {
        const std::int64_t column = x + options.left;
        const bool is_inside =
            row >= 0 && row < from.height && column >= 0 && column < from.width;
        for (std::int64_t c = 0; c < to.channels; ++c) {
          to.at(c, y, x) = is_inside ? from.at(c, row, column) : fill;
        }
      }
    }
    return result;
  });
}

Tensor center_crop(const Tensor& image, const SizeOptions& options) {
  check_image(image);
  return crop(image, {.top = centered(image.size(1), options.height),
                      .left = centered(image.size(2), options.width),
                      .height = options.height,
                      .width = options.width});
}

Tensor resized_crop(const Tensor& image, const ResizedCropOptions& options) {
  check_size("resized_crop", options.to_height, options.to_width);
  return with_element(image, [&]<typename T>(T) {
    const Box box{.top = options.top,
                  .left = options.left,
                  .height = options.height,
                  .width = options.width};
    if (box.top < 0 || box.left < 0 || box.height <= 0 || box.width <= 0 ||
        box.height > image.size(1) - box.top ||
        box.width > image.size(2) - box.left) {
      throw InvalidArgument(absl::StrCat(
          "resized_crop: the box ", box.height, " x ", box.width, " at row ",
          box.top, ", column ", box.left, " is not within an image of ",
          image.size(1), " x ", image.size(2)));
    }
    Tensor result = image_like(image, options.to_height, options.to_width);
    resample<T>(view_of<const T>(image).part(box), view_of<T>(result),
                options.antialias);
    return result;
  });
}

Tensor resize(const Tensor& image, const ResizeOptions& options) {
  check_image(image);
  const std::int64_t height = image.size(1);
  const std::int64_t width = image.size(2);
  std::int64_t to_height = options.height;
  std::int64_t to_width = options.width;
  if (options.shorter_side > 0) {
    const std::int64_t shorter = std::min(height, width);
    check_size("resize", options.shorter_side, shorter);
    to_height = options.shorter_side * height / shorter;
    to_width = options.shorter_side * width / shorter;
  }
  return resized_crop(image, {.height = height,
                              .width = width,
                              .to_height = to_height,
                              .to_width = to_width,
                              .antialias = options.antialias});
}

Tensor erase(const Tensor& image, const CropOptions& options) {
  check_image(image);
  if (options.top < 0 || options.left < 0 || options.height <= 0 ||
      options.width <= 0 || options.height > image.size(1) - options.top ||
      options.width > image.size(2) - options.left) {
    throw InvalidArgument("erase: the box is not within the image");
  }
  Tensor result = image_like(image, image.size(1), image.size(2));
  copy_image(image, result);
  with_element(image, [&]<typename T>(T) {
    const auto erased = view_of<T>(result).part({.top = options.top,
                                                 .left = options.left,
                                                 .height = options.height,
                                                 .width = options.width});
    for (std::int64_t y = 0; y < erased.height; ++y) {
      for (std::int64_t x = 0; x < erased.width; ++x) {
        for (std::int64_t c = 0; c < erased.channels; ++c) {
          erased.at(c, y, x) = autograd::scalar_to<T>(options.fill);
        }
      }
    }
  });
  return result;
}

}  // namespace hvd::data::augment
