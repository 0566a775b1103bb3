// SPDX-License-Identifier: Apache-2.0
// The Fashion-MNIST data set (Xiao, Rasul and Vollgraf 2017): 28×28 gray images
// of clothing in ten classes.
//
//   FashionMnist train("/usr/share/datasets/fashion-mnist", "train",
//                      {.augment = true});
//
// An item is an image, float32[1, 28, 28] of mean 0 and deviation 1 over the
// data set, and its label, int64[].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <horovodpp/horovodpp.h>

struct FashionMnistOptions {
  std::int64_t limit = 0;  // Only the first images; 0: all.
  // Whether images are moved by up to two pixels, and every other one mirrored,
  // by the thread's random numbers.
  bool augment = false;
};

class FashionMnist : public hvd::data::Dataset {
 public:
  static constexpr std::int64_t kSide = 28;
  static constexpr std::int64_t kPixels = kSide * kSide;
  // The mean of the 60,000 training images, as a fraction of white, and their
  // deviation.
  static constexpr float kMean = 0.2860f;
  static constexpr float kDeviation = 0.3530f;

  // Reads "<directory>/<split>-images-idx3-ubyte.gz" and
  // "-labels-idx1-ubyte.gz", for split "train" or "t10k".
  //   std::runtime_error  a file is missing or damaged; names it and its
  //                       package
  FashionMnist(const std::string& directory, const std::string& split,
               const FashionMnistOptions& options = {});

  std::int64_t size() const override {
    return static_cast<std::int64_t>(labels_.size());
  }
  hvd::data::Item get(std::int64_t index) const override;
  hvd::data::Batch get_batch(
      std::span<const std::int64_t> indices) const override;

 private:
  void copy_image(std::int64_t index, float* to) const;

  const FashionMnistOptions options_;
  std::vector<std::uint8_t> images_;
  std::vector<std::uint8_t> labels_;
};
