// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/collective/reduce/stream_copy.cc"
#include <hwy/foreach_target.h>
// Highway requires this include first.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Writes whole lines: a line that is not written whole at once is first read
// from memory.
void stream_lines(std::byte* to, const std::byte* from, std::size_t lines) {
  constexpr std::size_t kLine = 64;
  const hn::CappedTag<std::uint8_t, kLine> d;
  auto* out = reinterpret_cast<std::uint8_t*>(to);
  const auto* in = reinterpret_cast<const std::uint8_t*>(from);
  const std::size_t width = hn::Lanes(d);
  for (std::size_t at = 0; at < lines * kLine; at += width) {
    hn::Stream(hn::LoadU(d, in + at), d, out + at);
  }
}

}  // namespace
}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::collective {

HWY_EXPORT(stream_lines);

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  // Below that the lines at both ends outweigh the others.
  constexpr std::size_t kLeast = 512;
  if (bytes < kLeast) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t lines = (bytes - head) / kLine;
  const std::size_t tail = bytes - head - lines * kLine;
  std::memcpy(to, from, head);
  HWY_DYNAMIC_DISPATCH(stream_lines)(to + head, from + head, lines);
  std::memcpy(to + bytes - tail, from + bytes - tail, tail);
}

void finish_streams() { hwy::FlushStream(); }

}  // namespace hvd::collective
#endif
