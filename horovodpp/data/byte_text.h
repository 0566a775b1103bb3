// SPDX-License-Identifier: Apache-2.0
// Byte-level text for language models: windows of a file as inputs, and the
// following bytes as targets.
//
//   ByteText text = ByteText::read("/usr/share/common-licenses/GPL-3",
//                                  {.validation_fraction = 0.1});
//   TextWindows train(text.train(), {.length = 128, .random_windows = 10000});
//   TextWindows validation(text.validation(), {.length = 128});
//
// An item is two int64[length] tensors: window and target. Element i of the
// target is the byte after element i of the window.
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

struct ByteTextOptions {
  // The share of the bytes, at the end, that are for validation.
  double validation_fraction = 0.0;
  std::uint64_t most_bytes = std::uint64_t{1} << 32;
};

// Copies share the bytes.
class ByteText {
 public:
  // Reads a file, plain or compressed by gzip.
  //   InvalidArgument  the fraction is not in [0, 1)
  //   hvd::Error       the file is missing, unreadable, damaged, empty or too
  //                    large; names it
  static ByteText read(const std::string& path,
                       const ByteTextOptions& options = {});
  //   InvalidArgument  `bytes` is empty, or the fraction is not in [0, 1)
  static ByteText of(const std::string& bytes,
                     const ByteTextOptions& options = {});

  // uint8 [n].
  const Tensor& train() const { return train_; }
  const Tensor& validation() const { return validation_; }

 private:
  ByteText(const std::uint8_t* bytes, std::size_t size,
           const ByteTextOptions& options);
  Tensor train_;
  Tensor validation_;
};

struct TextWindowsOptions {
  std::int64_t length = 128;
  // Distance between windows; 0: `length`, so that they do not overlap.
  std::int64_t stride = 0;
  // If positive: the number of windows, at random places that depend only on
  // the seed and the window's number.
  std::int64_t random_windows = 0;
  std::uint64_t seed = 0;
};

class TextWindows : public Dataset {
 public:
  //   InvalidArgument  `bytes` is not uint8 [n], an option is negative, or
  //                    `bytes` is shorter than a window with its target
  explicit TextWindows(const Tensor& bytes,
                       const TextWindowsOptions& options = {});

  std::int64_t size() const override { return size_; }
  Item get(std::int64_t index) const override;
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  std::int64_t place_of(std::int64_t index) const;

  const Tensor bytes_;
  const TextWindowsOptions options_;
  std::int64_t size_ = 0;
};

}  // namespace data
}  // namespace hvd
