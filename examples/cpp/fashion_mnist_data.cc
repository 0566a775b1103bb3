// SPDX-License-Identifier: Apache-2.0
#include "fashion_mnist_data.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace {

float normalized(std::uint8_t grey) {
  return (static_cast<float>(grey) / 255.0f - FashionMnist::kMean) /
         FashionMnist::kDeviation;
}

// An augmentation: the shift of an image in pixels, and whether it is mirrored.
struct Pose {
  std::int64_t down = 0;
  std::int64_t right = 0;
  bool mirrored = false;
};

Pose random_pose() {
  constexpr int kMost = 2;
  std::array<float, 3> draws;
  hvd::autograd::default_generator().uniform(std::span<float>(draws));
  const auto shift = [](float draw) {
    return static_cast<std::int64_t>(draw * (2 * kMost + 1)) - kMost;
  };
  return {.down = shift(draws[0]),
          .right = shift(draws[1]),
          .mirrored = draws[2] < 0.5f};
}

hvd::Tensor read(const std::string& path) {
  try {
    const hvd::Tensor bytes = hvd::data::read_idx(path);
    if (bytes.dtype() == hvd::DType::kU8) return bytes;
    throw std::runtime_error("'" + path + "' is no IDX file of unsigned bytes");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(error.what()) +
                             "; Debian's package dataset-fashion-mnist has it, "
                             "--data names another place");
  }
}

}  // namespace

FashionMnist::FashionMnist(const std::string& directory,
                           const std::string& split,
                           const FashionMnistOptions& options)
    : options_(options) {
  const std::string base = directory + "/" + split;
  const hvd::Tensor images = read(base + "-images-idx3-ubyte.gz");
  const hvd::Tensor labels = read(base + "-labels-idx1-ubyte.gz");
  if (images.dim() != 3 || images.size(1) * images.size(2) != kPixels ||
      labels.dim() != 1 || labels.size(0) != images.size(0)) {
    throw std::runtime_error("'" + base +
                             "-*' are not 28x28 images with a label each");
  }
  images_ = images.to_vector<std::uint8_t>();
  labels_ = labels.to_vector<std::uint8_t>();
  if (std::any_of(labels_.begin(), labels_.end(),
                  [](std::uint8_t label) { return label > 9; })) {
    throw std::runtime_error("'" + base +
                             "-labels-idx1-ubyte.gz' has a label above 9");
  }
  if (options.limit > 0 && options.limit < size()) {
    labels_.resize(static_cast<std::size_t>(options.limit));
    images_.resize(static_cast<std::size_t>(options.limit * kPixels));
  }
}

void FashionMnist::copy_image(std::int64_t index, float* to) const {
  const std::uint8_t* image =
      &images_[static_cast<std::size_t>(index * kPixels)];
  if (!options_.augment) {
    std::transform(image, image + kPixels, to, normalized);
    return;
  }
  const Pose pose = random_pose();
  for (std::int64_t y = 0; y < kSide; ++y) {
    for (std::int64_t x = 0; x < kSide; ++x) {
      const std::int64_t row = y - pose.down;
      const std::int64_t moved = x - pose.right;
      const std::int64_t column = pose.mirrored ? kSide - 1 - moved : moved;
      const bool inside =
          row >= 0 && row < kSide && column >= 0 && column < kSide;
      *to++ = normalized(inside ? image[row * kSide + column] : 0);
    }
  }
}

hvd::data::Item FashionMnist::get(std::int64_t index) const {
  const hvd::data::Batch batch = get_batch(std::span(&index, 1));
  return {batch[0].select(0, 0), batch[1].select(0, 0)};
}

hvd::data::Batch FashionMnist::get_batch(
    std::span<const std::int64_t> indices) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  hvd::Tensor images = hvd::empty({count, 1, kSide, kSide});
  hvd::Tensor labels = hvd::empty({count}, {.dtype = hvd::DType::kI64});
  float* pixel = images.data<float>();
  std::int64_t* label = labels.data<std::int64_t>();
  for (const std::int64_t index : indices) {
    copy_image(index, pixel);
    pixel += kPixels;
    *label++ = labels_[static_cast<std::size_t>(index)];
  }
  return {std::move(images), std::move(labels)};
}
