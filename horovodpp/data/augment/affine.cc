// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/affine.h"

#include <array>
#include <cmath>
#include <numbers>

#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/image_view.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data::augment {
namespace {

double radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

// From places of the result to those of the image: (x, y, 1) -> (x, y). With the
// rotation R, the scale s and the shears X and Y, the image is mapped by R s Y X.
std::array<float, 6> inverse_of(const AffineOptions& o, double cx, double cy) {
  const double turn = radians(o.angle);
  const double shear_x = radians(o.shear_x), shear_y = radians(o.shear_y);
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(turn));
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = std::cos(turn) - c * std::tan(shear_x);
  std::array<double, 6> m = {d / o.scale,  -b / o.scale, 0,
                             -c / o.scale, a / o.scale,  0};
  m[2] = cx - m[0] * (cx + o.translate_x) - m[1] * (cy + o.translate_y);
  m[5] = cy - m[3] * (cx + o.translate_x) - m[4] * (cy + o.translate_y);
  std::array<float, 6> rounded{};
  for (std::size_t i = 0; i < m.size(); ++i) {
    rounded[i] = static_cast<float>(m[i]);
  }
  return rounded;
}

// The pixel at a place of the grid, where -1 and 1 are the image's edges.
float pixel_at(float place, float size) {
  return std::nearbyint(((place + 1.0f) * size - 1.0f) / 2.0f);
}

void check_affine(const AffineOptions& o) {
  for (const double number : {o.angle, o.translate_x, o.translate_y, o.scale,
                              o.shear_x, o.shear_y, o.fill}) {
    if (!std::isfinite(number)) {
      throw InvalidArgument("affine: a number is not finite");
    }
  }
  if (!(o.scale > 0))
    throw InvalidArgument("affine: the scale is not positive");
}

}  // namespace

Tensor affine(const Tensor& image, const AffineOptions& options) {
  check_affine(options);
  return with_element(image, [&]<typename T>(T) {
    Tensor result = image_like(image, image.size(1), image.size(2));
    const auto from = view_of<const T>(image);
    const auto to = view_of<T>(result);
    const auto width = static_cast<float>(to.width);
    const auto height = static_cast<float>(to.height);
    const double corner = options.around_corner ? -0.5 : 0.0;
    std::array<float, 6> m =
        inverse_of(options, corner * static_cast<double>(to.width),
                   corner * static_cast<double>(to.height));
    for (std::size_t i = 0; i < 3; ++i) {
      m[i] /= 0.5f * width;
      m[i + 3] /= 0.5f * height;
    }
    const auto fill = autograd::scalar_to<T>(options.fill);
    for (std::int64_t y = 0; y < to.height; ++y) {
      const float row = static_cast<float>(y) - (height - 1.0f) * 0.5f;
      for (std::int64_t x = 0; x < to.width; ++x) {
        const float column = static_cast<float>(x) - (width - 1.0f) * 0.5f;
        const float at_x = pixel_at(column * m[0] + row * m[1] + m[2], width);
        const float at_y = pixel_at(column * m[3] + row * m[4] + m[5], height);
        const bool is_inside =
            at_x >= 0 && at_x < width && at_y >= 0 && at_y < height;
        for (std::int64_t c = 0; c < to.channels; ++c) {
          to.at(c, y, x) = is_inside
                               ? from.at(c, static_cast<std::int64_t>(at_y),
                                         static_cast<std::int64_t>(at_x))
                               : fill;
        }
      }
    }
    return result;
  });
}

Tensor rotate(const Tensor& image, double angle, double fill) {
  return affine(image, {.angle = -angle, .fill = fill});
}

}  // namespace hvd::data::augment
