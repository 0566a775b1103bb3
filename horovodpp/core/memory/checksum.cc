// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/checksum.h"

#include <cstring>

#include "horovodpp/core/export.h"

namespace hvd {
namespace {

// 2^64 divided by the golden ratio; odd, so that no product loses a bit.
constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
constexpr std::size_t kLanes = 4;

std::uint64_t mixed(std::uint64_t x) {
  // The end of SplitMix64 (Steele, Lea and Flood, 2014).
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Combines both halves of a product. The lower half alone carries no bit down,
// and two flipped signs would cancel.
std::uint64_t folded(std::uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * kFactor;
  return static_cast<std::uint64_t>(product >> 64) ^
         static_cast<std::uint64_t>(product);
}

}  // namespace

HVD_EXPORT std::uint64_t combined(std::uint64_t a, std::uint64_t b) {
  return mixed(a * kFactor + b);
}

HVD_EXPORT std::uint64_t checksum(const void* bytes, std::size_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  // Independent products, as each takes several cycles.
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  std::size_t left = count;
  for (; left >= sizeof lanes; left -= sizeof lanes, next += sizeof lanes) {
    std::uint64_t words[kLanes];
    std::memcpy(words, next, sizeof words);
    for (std::size_t k = 0; k < kLanes; ++k) {
      lanes[k] = folded(lanes[k] ^ words[k]);
    }
  }
  std::uint64_t result = count;
  for (const std::uint64_t lane : lanes) result = combined(result, lane);
  for (; left > 0; --left, ++next) result = combined(result, *next);
  return result;
}

}  // namespace hvd
