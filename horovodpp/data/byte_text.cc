// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/byte_text.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/data/gz_file.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

void check_fraction(const ByteTextOptions& options) {
  if (options.validation_fraction >= 0 && options.validation_fraction < 1) {
    return;
  }
  throw InvalidArgument(absl::StrCat("validation_fraction is ",
                                     options.validation_fraction,
                                     "; it must be in [0, 1)"));
}

Tensor copy_of(const std::uint8_t* bytes, std::size_t size) {
  Tensor result =
      empty({static_cast<std::int64_t>(size)}, {.dtype = DType::kU8});
  if (size > 0) std::memcpy(result.raw_data(), bytes, size);
  return result;
}

}  // namespace

ByteText::ByteText(const std::uint8_t* bytes, std::size_t size,
                   const ByteTextOptions& options) {
  const auto held_back = static_cast<std::size_t>(static_cast<double>(size) *
                                                  options.validation_fraction);
  train_ = copy_of(bytes, size - held_back);
  validation_ = copy_of(bytes + size - held_back, held_back);
}

ByteText ByteText::read(const std::string& path,
                        const ByteTextOptions& options) {
  check_fraction(options);
  GzFile file(path);
  const std::vector<std::uint8_t> bytes = file.read_all(options.most_bytes);
  if (bytes.empty()) file.fail("is empty");
  return ByteText(bytes.data(), bytes.size(), options);
}

ByteText ByteText::of(const std::string& bytes,
                      const ByteTextOptions& options) {
  check_fraction(options);
  if (bytes.empty()) throw InvalidArgument("a text of no bytes");
  return ByteText(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                  bytes.size(), options);
}

TextWindows::TextWindows(const Tensor& bytes, const TextWindowsOptions& options)
    : bytes_(bytes.contiguous()), options_(options) {
  if (bytes.dtype() != DType::kU8 || bytes.dim() != 1) {
    throw InvalidArgument(
        absl::StrCat("windows of ", bytes.describe(), "; a text is uint8 [n]"));
  }
  if (options.length <= 0 || options.stride < 0 || options.random_windows < 0) {
    throw InvalidArgument(absl::StrCat(
        "windows of length ", options.length, ", stride ", options.stride,
        " and random_windows ", options.random_windows,
        ": the first must be positive, none negative"));
  }
  const std::int64_t places = bytes.size(0) - options.length;
  if (places <= 0) {
    throw InvalidArgument(
        absl::StrCat("a text of ", bytes.size(0), " bytes has no window of ",
                     options.length, " and a byte to follow it"));
  }
  const std::int64_t stride =
      options.stride > 0 ? options.stride : options.length;
  size_ = options.random_windows > 0 ? options.random_windows
                                     : (places - 1) / stride + 1;
}

std::int64_t TextWindows::place_of(std::int64_t index) const {
  if (index < 0 || index >= size_) {
    throw InvalidArgument(
        absl::StrCat("window ", index, " of ", size_, " windows"));
  }
  if (options_.random_windows == 0) {
    return index * (options_.stride > 0 ? options_.stride : options_.length);
  }
  const auto places =
      static_cast<std::uint64_t>(bytes_.size(0) - options_.length);
  const auto i = static_cast<std::uint64_t>(index);
  const auto words =
      autograd::philox({static_cast<std::uint32_t>(i),
                        static_cast<std::uint32_t>(i >> 32), 0, 0},
                       {static_cast<std::uint32_t>(options_.seed),
                        static_cast<std::uint32_t>(options_.seed >> 32)});
  const std::uint64_t number = (std::uint64_t{words[1]} << 32) | words[0];
  return static_cast<std::int64_t>(number % places);
}

Item TextWindows::get(std::int64_t index) const {
  const std::int64_t one[] = {index};
  Batch batch = get_batch(one);
  return {batch[0].select(0, 0), batch[1].select(0, 0)};
}

Batch TextWindows::get_batch(std::span<const std::int64_t> indices) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  const autograd::Dims shape{count, options_.length};
  Batch batch{empty(shape, {.dtype = DType::kI64}),
              empty(shape, {.dtype = DType::kI64})};
  auto* window = batch[0].data<std::int64_t>();
  auto* target = batch[1].data<std::int64_t>();
  for (const std::int64_t index : indices) {
    const auto* first = bytes_.data<std::uint8_t>() + place_of(index);
    window = std::copy_n(first, options_.length, window);
    target = std::copy_n(first + 1, options_.length, target);
  }
  return batch;
}

}  // namespace hvd::data
