// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/largest.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace hvd::compression {
namespace {

// Absolute values as integers of the same order.
std::uint32_t size_of(float x) {
  constexpr std::uint32_t kInfinite = 0x7f800000;
  return std::min(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU, kInfinite);
}

// Unique for each place: the larger, and of equal ones the first, has the
// larger key.
std::uint64_t key_of(std::uint32_t size, std::size_t place) {
  return std::uint64_t{size} << 32 | (~std::uint64_t{place} & 0xffffffffU);
}

std::vector<std::uint64_t> keys_from(std::span<const float> numbers,
                                     std::uint32_t least) {
  // Most blocks have none of the largest numbers: one comparison each, of all
  // sizes together.
  constexpr std::size_t kBlock = 16;
  std::vector<std::uint64_t> keys;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const std::size_t end = std::min(numbers.size(), begin + kBlock);
    std::uint32_t most = 0;
    for (std::size_t i = begin; i < end; ++i) {
      most = std::max(most, size_of(numbers[i]));
    }
    if (most < least) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t size = size_of(numbers[i]);
      if (size >= least) keys.push_back(key_of(size, i));
    }
  }
  return keys;
}

// A size that, by a sample, somewhat more than `count` numbers reach.
std::uint32_t estimate(std::span<const float> numbers, std::size_t count) {
  // Odd, so that the sample covers all columns of rows of usual lengths.
  constexpr std::size_t kStride = 61;
  constexpr std::size_t kSpare = 64;
  std::vector<std::uint32_t> sample;
  for (std::size_t i = 0; i < numbers.size(); i += kStride) {
    sample.push_back(size_of(numbers[i]));
  }
  const std::size_t rank = count / kStride + count / kStride / 8 + kSpare;
  if (rank >= sample.size()) return 0;
  const auto found = sample.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sample.begin(), found, sample.end(), std::greater<>());
  return *found;
}

}  // namespace

std::vector<std::uint32_t> largest(std::span<const float> numbers,
                                   std::size_t count) {
  std::vector<std::uint32_t> places;
  if (count == 0) return places;
  std::vector<std::uint64_t> keys =
      keys_from(numbers, estimate(numbers, count));
  if (keys.size() < count) keys = keys_from(numbers, 0);
  std::vector<std::uint64_t> sorted = keys;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  places.reserve(count);
  for (const std::uint64_t key : keys) {
    if (key >= *last) places.push_back(~static_cast<std::uint32_t>(key));
  }
  return places;
}

}  // namespace hvd::compression
