// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/tones.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/image_view.h"

namespace hvd::data::augment {
namespace {

template <typename T>
constexpr float kWhite = std::is_same_v<T, float> ? 1.0f : 255.0f;

// As torchvision converts floats to bytes: white is 255, not 256.
std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) *
                                   (256.0f - 1e-3f));
}

// Of each element.
template <typename T, typename F>
Tensor mapped(const Tensor& image, F f) {
  Tensor result = image_like(image, image.size(1), image.size(2));
  const auto from = view_of<const T>(image);
  const auto to = view_of<T>(result);
  for (std::int64_t y = 0; y < to.height; ++y) {
    for (std::int64_t x = 0; x < to.width; ++x) {
      for (std::int64_t c = 0; c < to.channels; ++c) {
        to.at(c, y, x) = f(from.at(c, y, x), c);
      }
    }
  }
  return result;
}

void check_channels(const char* function, const Tensor& image) {
  check_image(image);
  if (image.size(0) == 1 || image.size(0) == 3) return;
  throw InvalidArgument(absl::StrCat(function, ": an image of ", image.size(0),
                                     " channels; there must be 1 or 3"));
}

void check_number(const char* function, double number, double low,
                  double high) {
  if (number >= low && number <= high) return;
  throw InvalidArgument(
      absl::StrCat(function, ": ", number, " is not from ", low, " to ", high));
}

using Color = std::array<float, 3>;

// The hue of a color, from 0 to 1.
float hue_of(const Color& rgb, float most, float range) {
  const auto part = [&](std::size_t c) { return (most - rgb[c]) / range; };
  float sixths = 0;
  if (most == rgb[0]) {
    sixths = part(2) - part(1);
  } else if (most == rgb[1]) {
    sixths = 2.0f + part(0) - part(2);
  } else {
    sixths = 4.0f + part(1) - part(0);
  }
  return std::fmod(sixths * (1.0f / 6.0f) + 1.0f, 1.0f);
}

Color color_of(float hue, float saturation, float value) {
  const float sixths = hue * 6.0f;
  const float sector = std::floor(sixths);
  const float part = sixths - sector;
  const auto toned = [&](float share) {
    return std::clamp(share * value, 0.0f, 1.0f);
  };
  const float p = toned(1.0f - saturation);
  const float q = toned(1.0f - saturation * part);
  const float t = toned(saturation * part + (1.0f - saturation));
  switch (static_cast<int>(sector) % 6) {
    case 0:
      return {value, t, p};
    case 1:
      return {q, value, p};
    case 2:
      return {p, value, t};
    case 3:
      return {p, q, value};
    case 4:
      return {t, p, value};
    default:
      return {value, p, q};
  }
}

Color turned(const Color& rgb, float factor) {
  const float most = std::max({rgb[0], rgb[1], rgb[2]});
  const float range = most - std::min({rgb[0], rgb[1], rgb[2]});
  if (!(range > 0)) return rgb;
  const float hue = hue_of(rgb, most, range) + factor;
  return color_of(hue - std::floor(hue), range / most, most);
}

// The mean of 3 x 3 elements, of which the middle one counts 5 times.
template <typename T>
float blurred(const ImageView<const T>& image, std::int64_t c, std::int64_t y,
              std::int64_t x) {
  float sum = 0;
  for (std::int64_t i = -1; i <= 1; ++i) {
    for (std::int64_t j = -1; j <= 1; ++j) {
      const float weight = i == 0 && j == 0 ? 5.0f / 13.0f : 1.0f / 13.0f;
      sum += weight * static_cast<float>(image.at(c, y + i, x + j));
    }
  }
  return std::is_same_v<T, float> ? sum : std::nearbyint(sum);
}

// The bytes that equalize one channel; the identity if there is nothing to do.
class Equalizer {
 public:
  void count(std::uint8_t byte) { ++counts_[byte]; }

  void finish(std::int64_t pixels) {
    std::size_t last = table_.size() - 1;
    while (last > 0 && counts_[last] == 0) --last;
    const std::int64_t step = (pixels - counts_[last]) / 255;
    std::int64_t below = 0;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::int64_t level =
          step == 0 ? static_cast<std::int64_t>(i)
          : i == 0  ? 0
                    : std::min<std::int64_t>((below + step / 2) / step, 255);
      table_[i] = static_cast<std::uint8_t>(level);
      below += counts_[i];
    }
  }
  std::uint8_t operator()(std::uint8_t byte) const { return table_[byte]; }

 private:
  std::array<std::int64_t, 256> counts_{};
  std::array<std::uint8_t, 256> table_{};
};

}  // namespace

Tensor adjust_hue(const Tensor& image, double factor) {
  check_channels("adjust_hue", image);
  check_number("adjust_hue", factor, -0.5, 0.5);
  if (image.size(0) == 1) return image;
  return with_element(image, [&]<typename T>(T) {
    Tensor result = image_like(image, image.size(1), image.size(2));
    const auto from = view_of<const T>(image);
    const auto to = view_of<T>(result);
    for (std::int64_t y = 0; y < to.height; ++y) {
      for (std::int64_t x = 0; x < to.width; ++x) {
        Color rgb{};
        for (std::int64_t c = 0; c < 3; ++c) {
          rgb[static_cast<std::size_t>(c)] =
              static_cast<float>(from.at(c, y, x)) / kWhite<T>;
        }
        rgb = turned(rgb, static_cast<float>(factor));
        for (std::int64_t c = 0; c < 3; ++c) {
          const float value = rgb[static_cast<std::size_t>(c)];
          if constexpr (std::is_same_v<T, float>) {
            to.at(c, y, x) = value;
          } else {
            to.at(c, y, x) = byte_of(value);
          }
        }
      }
    }
    return result;
  });
}

Tensor adjust_sharpness(const Tensor& image, double factor) {
  check_channels("adjust_sharpness", image);
  check_number("adjust_sharpness", factor, 0, 1e6);
  if (image.size(1) <= 2 || image.size(2) <= 2) return image;
  return with_element(image, [&]<typename T>(T) {
    Tensor result = image_like(image, image.size(1), image.size(2));
    copy_image(image, result);
    const auto from = view_of<const T>(image);
    const auto to = view_of<T>(result);
    const auto rest = static_cast<float>(1.0 - factor);
    for (std::int64_t y = 1; y + 1 < to.height; ++y) {
      for (std::int64_t x = 1; x + 1 < to.width; ++x) {
        for (std::int64_t c = 0; c < to.channels; ++c) {
          const auto value = static_cast<float>(from.at(c, y, x));
          const float sum = value + rest * (blurred(from, c, y, x) - value);
          to.at(c, y, x) = static_cast<T>(std::clamp(sum, 0.0f, kWhite<T>));
        }
      }
    }
    return result;
  });
}

Tensor invert(const Tensor& image) {
  return with_element(image, [&]<typename T>(T) {
    return mapped<T>(image, [](T value, std::int64_t) {
      return static_cast<T>(static_cast<T>(kWhite<T>) - value);
    });
  });
}

Tensor posterize(const Tensor& image, std::int64_t bits) {
  check_number("posterize", static_cast<double>(bits), 0, 8);
  return with_element(image, [&]<typename T>(T) {
    return mapped<T>(image, [bits](T value, std::int64_t) {
      if constexpr (std::is_same_v<T, float>) {
        const auto levels = static_cast<float>(1 << bits);
        return std::clamp(std::floor(value * levels), 0.0f, levels - 1) *
               (1.0f / levels);
      } else {
        return static_cast<T>(value & (0xff << (8 - bits)));
      }
    });
  });
}

Tensor solarize(const Tensor& image, double threshold) {
  return with_element(image, [&]<typename T>(T) {
    if (!(threshold <= static_cast<double>(kWhite<T>))) {
      throw InvalidArgument(absl::StrCat("solarize: the threshold ", threshold,
                                         " is above white"));
    }
    const auto bound = static_cast<float>(threshold);
    return mapped<T>(image, [bound](T value, std::int64_t) {
      if (static_cast<float>(value) < bound) return value;
      return static_cast<T>(static_cast<T>(kWhite<T>) - value);
    });
  });
}

Tensor autocontrast(const Tensor& image) {
  check_channels("autocontrast", image);
  return with_element(image, [&]<typename T>(T) {
    const auto from = view_of<const T>(image);
    std::array<float, 3> least{};
    std::array<float, 3> scale{};
    for (std::int64_t c = 0; c < from.channels; ++c) {
      auto low = static_cast<float>(from.at(c, 0, 0));
      float high = low;
      for (std::int64_t y = 0; y < from.height; ++y) {
        for (std::int64_t x = 0; x < from.width; ++x) {
          low = std::min(low, static_cast<float>(from.at(c, y, x)));
          high = std::max(high, static_cast<float>(from.at(c, y, x)));
        }
      }
      const auto at = static_cast<std::size_t>(c);
      least[at] = low == high ? 0.0f : low;
      scale[at] = low == high ? 1.0f : (high - low) * (1.0f / kWhite<T>);
    }
    return mapped<T>(image, [&](T value, std::int64_t c) {
      const auto at = static_cast<std::size_t>(c);
      const float stretched =
          (static_cast<float>(value) - least[at]) / scale[at];
      return static_cast<T>(std::clamp(stretched, 0.0f, kWhite<T>));
    });
  });
}

Tensor equalize(const Tensor& image) {
  return with_element(image, [&]<typename T>(T) {
    const auto byte = [](T value) {
      if constexpr (std::is_same_v<T, float>) {
        return byte_of(value);
      } else {
        return value;
      }
    };
    const auto from = view_of<const T>(image);
    std::vector<Equalizer> channels(static_cast<std::size_t>(from.channels));
    for (std::int64_t c = 0; c < from.channels; ++c) {
      Equalizer& equalizer = channels[static_cast<std::size_t>(c)];
      for (std::int64_t y = 0; y < from.height; ++y) {
        for (std::int64_t x = 0; x < from.width; ++x) {
          equalizer.count(byte(from.at(c, y, x)));
        }
      }
      equalizer.finish(from.height * from.width);
    }
    return mapped<T>(image, [&](T value, std::int64_t c) {
      const std::uint8_t level =
          channels[static_cast<std::size_t>(c)](byte(value));
      if constexpr (std::is_same_v<T, float>) {
        return static_cast<float>(level) * (1.0f / 255.0f);
      } else {
        return level;
      }
    });
  });
}

}  // namespace hvd::data::augment
