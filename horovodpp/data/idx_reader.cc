// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/idx_reader.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/data/gz_file.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

// Larger than any data set of this format; limits damaged headers.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 34;

std::optional<DType> dtype_of_code(std::uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::kU8;
    case 0x09:
      return DType::kI8;
    case 0x0B:
      return DType::kI16;
    case 0x0C:
      return DType::kI32;
    case 0x0D:
      return DType::kF32;
    case 0x0E:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

// Reads the dimensions, at most kMaxBytes bytes in all.
autograd::Dims read_dims(GzFile& file, std::uint8_t rank, std::size_t element) {
  autograd::Dims dims;
  std::uint64_t bytes = element;
  bool has_zero = false;
  for (std::uint8_t i = 0; i < rank; ++i) {
    std::uint8_t size[4];
    file.read(size, sizeof(size));
    const std::uint64_t value = (std::uint64_t{size[0]} << 24) |
                                (std::uint64_t{size[1]} << 16) |
                                (std::uint64_t{size[2]} << 8) | size[3];
    dims.push_back(static_cast<std::int64_t>(value));
    has_zero |= value == 0;
    if (value > 0 && bytes > kMaxBytes / value) {
      file.fail("claims to be larger than any data set");
    }
    bytes *= std::max<std::uint64_t>(value, 1);
  }
  if (has_zero) file.fail("claims to have no elements");
  return dims;
}

void reverse_elements(std::vector<std::uint8_t>& bytes, std::size_t element) {
  for (std::size_t at = 0; at < bytes.size(); at += element) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + element));
  }
}

}  // namespace

Tensor read_idx(const std::string& path) {
  GzFile file(path);
  std::uint8_t header[4];
  file.read(header, sizeof(header));
  const auto dtype = dtype_of_code(header[2]);
  if (header[0] != 0 || header[1] != 0 || !dtype || header[3] == 0) {
    file.fail("is no IDX file");
  }
  if (header[3] > autograd::Dims::kMax) {
    file.fail(absl::StrCat("claims to have ", header[3], " dimensions; there ",
                           "may be ", autograd::Dims::kMax));
  }
  const std::size_t element = size_of(*dtype);
  const autograd::Dims dims = read_dims(file, header[3], element);
  auto bytes =
      file.read_bytes(static_cast<std::uint64_t>(dims.product()) * element);
  file.check_end();
  if constexpr (std::endian::native == std::endian::little) {
    if (element > 1) reverse_elements(bytes, element);
  }
  Tensor result = empty(dims, {.dtype = *dtype});
  std::memcpy(result.raw_data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace hvd::data
