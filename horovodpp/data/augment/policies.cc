// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/policies.h"

#include <cmath>
#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/draws.h"
#include "horovodpp/data/augment/policy_tables.h"

namespace hvd::data::augment {
namespace {

using autograd::Generator;
using enum Augmentation;

// The range of magnitudes of a policy; equal numbers of bins share it evenly.
struct Strengths {
  double shear;
  double translate;  // Pixels, or a share of the side.
  bool is_share;
  double rotate;
  double blend;
  double bits;  // That are lost at most.
};
constexpr Strengths kCommon = {.shear = 0.3,
                               .translate = 150.0 / 331.0,
                               .is_share = true,
                               .rotate = 30,
                               .blend = 0.9,
                               .bits = 4};
constexpr Strengths kWide = {.shear = 0.99,
                             .translate = 32,
                             .is_share = false,
                             .rotate = 135,
                             .blend = 0.99,
                             .bits = 6};

// Number i of `count` from `low` to `high`, in float32 as torch.linspace.
double linspaced(double low, double high, std::int64_t count, std::int64_t i) {
  const auto first = static_cast<float>(low), last = static_cast<float>(high);
  if (count == 1) return first;
  const float step = (last - first) / static_cast<float>(count - 1);
  if (i < count / 2) return first + step * static_cast<float>(i);
  return last - step * static_cast<float>(count - 1 - i);
}

bool has_sign(Augmentation augmentation) {
  return augmentation >= kShearX && augmentation <= kSharpness;
}

// The magnitude of bin `i` of `count`, of operations that have one.
double magnitude_of(Augmentation augmentation, const Strengths& s,
                    const Tensor& image, std::int64_t count, std::int64_t i) {
  const auto even = [&](double most) { return linspaced(0, most, count, i); };
  const auto translate = [&](std::int64_t dim) {
    const auto side = static_cast<double>(image.size(dim));
    return even(s.is_share ? s.translate * side : s.translate);
  };
  switch (augmentation) {
    case kShearX:
    case kShearY:
      return even(s.shear);
    case kTranslateX:
      return translate(2);
    case kTranslateY:
      return translate(1);
    case kRotate:
      return even(s.rotate);
    case kBrightness:
    case kColor:
    case kContrast:
    case kSharpness:
      return even(s.blend);
    case kPosterize: {
      const auto lost =
          static_cast<float>(i) /
          static_cast<float>(static_cast<double>(count - 1) / s.bits);
      return std::nearbyint(8.0f - lost);
    }
    case kSolarize:
      return linspaced(1, 0, count, i);
    default:
      return 0;
  }
}

double with_sign(Augmentation augmentation, double magnitude,
                 Generator& random) {
  if (!has_sign(augmentation) || !draw_chance(random, 0.5)) return magnitude;
  return -magnitude;
}

Augmentation draw_augmentation(Generator& random) {
  // All but kInvert, in torchvision's order.
  return static_cast<Augmentation>(draw_below(random, 14));
}

void require_bins(const char* function, std::int64_t bins,
                  std::int64_t magnitude) {
  // One bin has no posterized magnitude.
  if (bins >= 2 && magnitude >= 0 && magnitude < bins) return;
  throw InvalidArgument(
      std::string(function) +
      ": there are at least 2 bins, and the magnitude is one");
}

}  // namespace

ImageTransform rand_augment(const RandAugmentOptions& options) {
  require_bins("rand_augment", options.num_magnitude_bins, options.magnitude);
  if (options.num_ops < 0) {
    throw InvalidArgument("rand_augment: num_ops is negative");
  }
  return [options](const Tensor& image, Generator& random) {
    Tensor result = image;
    for (std::int64_t i = 0; i < options.num_ops; ++i) {
      const Augmentation drawn = draw_augmentation(random);
      const double magnitude = magnitude_of(
          drawn, kCommon, image, options.num_magnitude_bins, options.magnitude);
      result = augmented(result, drawn, with_sign(drawn, magnitude, random),
                         options.fill);
    }
    return result;
  };
}

ImageTransform trivial_augment_wide(const TrivialAugmentOptions& options) {
  require_bins("trivial_augment_wide", options.num_magnitude_bins, 0);
  return [options](const Tensor& image, Generator& random) {
    const std::int64_t bins = options.num_magnitude_bins;
    const Augmentation drawn = draw_augmentation(random);
    const double magnitude =
        magnitude_of(drawn, kWide, image, bins, draw_below(random, bins));
    return augmented(image, drawn, with_sign(drawn, magnitude, random),
                     options.fill);
  };
}

ImageTransform auto_augment(AutoAugmentPolicy policy, double fill) {
  const PolicyTable& table = policy_table(policy);
  return [&table, fill](const Tensor& image, Generator& random) {
    constexpr std::int64_t kBins = 10;
    Tensor result = image;
    const auto pair = static_cast<std::size_t>(
        draw_below(random, static_cast<std::int64_t>(table.size())));
    for (const PolicyStep& step : table[pair]) {
      if (!draw_chance(random, step.probability)) continue;
      const double magnitude = magnitude_of(step.augmentation, kCommon, image,
                                            kBins, step.magnitude);
      result = augmented(result, step.augmentation,
                         with_sign(step.augmentation, magnitude, random), fill);
    }
    return result;
  };
}

}  // namespace hvd::data::augment
