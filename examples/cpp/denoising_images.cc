// SPDX-License-Identifier: Apache-2.0
#include "denoising_images.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace {

constexpr std::uint64_t kNoiseSeed = 0x6e6f697365;

// Writes the noisy image and its time to `noisy`, and the noise.
void add_noise(std::int64_t index, const float* image, float* noisy,
               float* noise) {
  constexpr auto kPixels = static_cast<std::size_t>(FashionMnist::kPixels);
  hvd::autograd::Generator generator(kNoiseSeed +
                                     static_cast<std::uint64_t>(index));
  float time = 0;
  generator.uniform(std::span(&time, 1));
  generator.normal(std::span(noise, kPixels));
  const float angle = time * std::numbers::pi_v<float> / 2;
  const float kept = std::cos(angle);
  const float added = std::sin(angle);
  std::transform(image, image + kPixels, noise, noisy,
                 [&](float x, float e) { return kept * x + added * e; });
  std::fill_n(noisy + kPixels, kPixels, time);
}

}  // namespace

hvd::data::Item DenoisingImages::get(std::int64_t index) const {
  const hvd::data::Batch batch = get_batch(std::span(&index, 1));
  return {batch[0].select(0, 0), batch[1].select(0, 0)};
}

hvd::data::Batch DenoisingImages::get_batch(
    std::span<const std::int64_t> indices) const {
  constexpr std::int64_t kSide = FashionMnist::kSide;
  const auto count = static_cast<std::int64_t>(indices.size());
  const hvd::Tensor images = images_.get_batch(indices)[0];
  const hvd::Tensor noisy = hvd::empty({count, 2, kSide, kSide});
  const hvd::Tensor noise = hvd::empty({count, 1, kSide, kSide});
  for (std::int64_t i = 0; i < count; ++i) {
    add_noise(indices[static_cast<std::size_t>(i)],
              images.data<float>() + i * FashionMnist::kPixels,
              noisy.data<float>() + 2 * i * FashionMnist::kPixels,
              noise.data<float>() + i * FashionMnist::kPixels);
  }
  return {noisy, noise};
}
