#include "fashion_mnist_data.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace {

// Of the 60,000 training images, as fractions of white.
constexpr float kMean = 0.2860f;
constexpr float kDeviation = 0.3530f;

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
                           const std::string& split, std::int64_t limit) {
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
  if (limit > 0 && limit < size()) {
    labels_.resize(static_cast<std::size_t>(limit));
    images_.resize(static_cast<std::size_t>(limit * kPixels));
  }
}

FashionMnist::Batch FashionMnist::batch(
    const std::vector<std::int64_t>& positions) const {
  const auto count = static_cast<std::int64_t>(positions.size());
  Batch batch{hvd::empty({count, kPixels}),
              hvd::empty({count}, {.dtype = hvd::DType::kI64})};
  float* pixel = batch.images.data<float>();
  std::int64_t* label = batch.labels.data<std::int64_t>();
  for (const std::int64_t position : positions) {
    const std::uint8_t* image =
        &images_[static_cast<std::size_t>(position * kPixels)];
    pixel =
        std::transform(image, image + kPixels, pixel, [](std::uint8_t grey) {
          return (static_cast<float>(grey) / 255.0f - kMean) / kDeviation;
        });
    *label++ = labels_[static_cast<std::size_t>(position)];
  }
  return batch;
}

std::vector<std::int64_t> shuffled(std::int64_t size, std::uint64_t seed,
                                   int epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed * 1000003u + static_cast<std::uint64_t>(epoch));
  // Not std::shuffle, whose result each standard library may choose.
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

std::vector<std::int64_t> share(const std::vector<std::int64_t>& order,
                                std::int64_t first, std::int64_t count,
                                int rank, int ranks) {
  const auto begin = order.begin() + first + count * rank / ranks;
  const auto end = order.begin() + first + count * (rank + 1) / ranks;
  return std::vector<std::int64_t>(begin, end);
}
