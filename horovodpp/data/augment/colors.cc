// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/functions.h"
#include "horovodpp/data/augment/image_view.h"

namespace hvd::data::augment {
namespace {

constexpr float kWhiteByte = 255.0f;

// torchvision's weights of red, green and blue.
template <typename T>
float gray_of(const ImageView<const T>& image, std::int64_t y, std::int64_t x) {
  if (image.channels == 1) return static_cast<float>(image.at(0, y, x));
  return 0.2989f * static_cast<float>(image.at(0, y, x)) +
         0.587f * static_cast<float>(image.at(1, y, x)) +
         0.114f * static_cast<float>(image.at(2, y, x));
}

template <typename T>
float mean_gray(const ImageView<const T>& image) {
  double sum = 0;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const float gray = gray_of(image, y, x);
      sum += std::is_same_v<T, float> ? gray : std::floor(gray);
    }
  }
  return static_cast<float>(sum / static_cast<double>(image.height) /
                            static_cast<double>(image.width));
}

void check_color(const char* function, const Tensor& image, double factor) {
  check_image(image);
  if (image.size(0) != 1 && image.size(0) != 3) {
    throw InvalidArgument(absl::StrCat(function, ": an image of ",
                                       image.size(0),
                                       " channels; there must be 1 or 3"));
  }
  if (!(factor >= 0) || factor > 1e6) {
    throw InvalidArgument(absl::StrCat(function, ": the factor ", factor,
                                       " is negative, or no number"));
  }
}

// factor * image + (1 - factor) * other(y, x), within the dtype's range. Bytes
// are cut, not rounded.
template <typename T, typename Other>
Tensor blend(const Tensor& image, double factor, Other other) {
  Tensor result = image_like(image, image.size(1), image.size(2));
  const auto from = view_of<const T>(image);
  const auto to = view_of<T>(result);
  const auto share = static_cast<float>(factor);
  const auto rest = static_cast<float>(1.0 - factor);
  const float white = std::is_same_v<T, float> ? 1.0f : kWhiteByte;
  for (std::int64_t y = 0; y < to.height; ++y) {
    for (std::int64_t x = 0; x < to.width; ++x) {
      const float added = rest * other(from, y, x);
      for (std::int64_t c = 0; c < to.channels; ++c) {
        const float sum = share * static_cast<float>(from.at(c, y, x)) + added;
        to.at(c, y, x) = static_cast<T>(std::clamp(sum, 0.0f, white));
      }
    }
  }
  return result;
}

// The value for channel c of a list of one per channel, or of one for all.
float value_of(const std::vector<double>& values, std::int64_t c) {
  const auto i = values.size() == 1 ? 0 : static_cast<std::size_t>(c);
  return static_cast<float>(values[i]);
}

void check_list(const char* name, const std::vector<double>& values,
                std::int64_t channels) {
  if (values.size() == 1 ||
      static_cast<std::int64_t>(values.size()) == channels)
    return;
  throw InvalidArgument(absl::StrCat(
      "normalize: ", values.size(), " numbers as `", name, "` of an image of ",
      channels, " channels; give one, or one per channel"));
}

// (value - mean) / std; of a byte from a table.
template <typename T>
class Normalized {
 public:
  Normalized(float mean, float std) : mean_(mean), std_(std) {}
  float operator()(float value) const { return (value - mean_) / std_; }

 private:
  const float mean_, std_;
};
template <>
class Normalized<std::uint8_t> {
 public:
  Normalized(float mean, float std) {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      table_[i] = (static_cast<float>(i) / kWhiteByte - mean) / std;
    }
  }
  float operator()(std::uint8_t byte) const { return table_[byte]; }

 private:
  std::array<float, 256> table_;
};

}  // namespace

Tensor adjust_brightness(const Tensor& image, double factor) {
  check_color("adjust_brightness", image, factor);
  return with_element(image, [&]<typename T>(T) {
    return blend<T>(image, factor,
                    [](const auto&, auto, auto) { return 0.0f; });
  });
}

Tensor adjust_contrast(const Tensor& image, double factor) {
  check_color("adjust_contrast", image, factor);
  return with_element(image, [&]<typename T>(T) {
    const float mean = mean_gray(view_of<const T>(image));
    return blend<T>(image, factor,
                    [mean](const auto&, auto, auto) { return mean; });
  });
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  check_color("adjust_saturation", image, factor);
  if (image.size(0) == 1) return image;
  return with_element(image, [&]<typename T>(T) {
    return blend<T>(image, factor,
                    [](const auto& from, std::int64_t y, std::int64_t x) {
                      const float gray = gray_of(from, y, x);
                      return std::is_same_v<T, float> ? gray : std::floor(gray);
                    });
  });
}

Tensor to_float(const Tensor& image) {
  return normalize(image, {.mean = {0.0}, .std = {1.0}});
}

Tensor normalize(const Tensor& image, const NormalizeOptions& options) {
  return with_element(image, [&]<typename T>(T) {
    check_list("mean", options.mean, image.size(0));
    check_list("std", options.std, image.size(0));
    for (const double std : options.std) {
      if (std == 0) throw InvalidArgument("normalize: `std` has a 0");
    }
    Tensor result = empty(image.shape());
    const auto from = view_of<const T>(image);
    auto* to = result.template data<float>();
    for (std::int64_t c = 0; c < from.channels; ++c) {
      const Normalized<T> normalized(value_of(options.mean, c),
                                     value_of(options.std, c));
      for (std::int64_t y = 0; y < from.height; ++y) {
        for (std::int64_t x = 0; x < from.width; ++x) {
          *to++ = normalized(from.at(c, y, x));
        }
      }
    }
    return result;
  });
}

}  // namespace hvd::data::augment
