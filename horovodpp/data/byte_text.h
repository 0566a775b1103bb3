// SPDX-License-Identifier: Apache-2.0
// Text as bytes, for language models: windows of a file, and the bytes that
// follow each of a window's bytes.
//
//   ByteText text = ByteText::read("/usr/share/common-licenses/GPL-3",
//                                  {.validation_fraction = 0.1});
//   TextWindows train(text.train(), {.length = 128, .random_windows = 10000});
//   TextWindows validation(text.validation(), {.length = 128});
//
// An item is two int64[length]: window and target, whose element i is the byte
// after element i of the window.
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

struct ByteTextOptions {
  // Of the bytes; the last ones.
  double validation_fraction = 0.0;
  std::uint64_t most_bytes = std::uint64_t{1} << 32;
};

// Copies share the bytes, as tensors do.
class ByteText {
 public:
  // Reads a file, plain or gzip'd.
  //   InvalidArgument  the fraction is not in [0, 1)
  //   hvd::Error       the file is missing, unreadable, damaged, empty or too
  //                    large; names it
  static ByteText read(const std::string& path,
                       const ByteTextOptions& options = {});
  //   InvalidArgument  there are none, or the fraction is not in [0, 1)
  static ByteText of(const std::string& bytes,
                     const ByteTextOptions& options = {});

  // uint8, one after the other.
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
  // From one window to the next; 0: `length`, so that they do not overlap.
  std::int64_t stride = 0;
  // If above 0: so many windows at random places, which depend on seed and
  // number of the window only.
  std::int64_t random_windows = 0;
  std::uint64_t seed = 0;
};

class TextWindows : public Dataset {
 public:
  //   InvalidArgument  `bytes` is no uint8 [n], an option is negative, or there
  //                    are fewer bytes than a window and its target take
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
