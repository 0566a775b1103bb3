// SPDX-License-Identifier: Apache-2.0
// An Event is one entry of a rank's trace. The ring keeps 32 bytes of it, so
// that texts are names of the ring (event_ring.h), by their numbers.
#pragma once

#include <cstdint>

namespace hvd::trace {

// The numbers are in memory that another version of the library may read: do
// not reuse one.
enum class EventKind : std::uint8_t {
  kJobBegins = 1,    // value: pack(size, rank)
  kJobBreaks = 2,    // name: the reason
  kJobEnds = 3,      // Without an error.
  kSubmitted = 4,    // name: the operation; value: bytes
  kRefused = 5,      // name: an operation that failed by itself
  kBatchBegins = 6,  // value: pack(epoch, sequence); name: number of entries
  kBatchEntry = 7,   // name: the operation; value: bytes; detail: dtype + 1
  kCallBegins = 8,   // label: the plane; value: bytes
  kCallEnds = 9,     // detail: whether it failed or was abandoned
  kBatchEnds = 10,   // value: as kBatchBegins; detail: a BatchEnd
  kWorkEnds = 11,    // value: as kBatchBegins; its work on a GPU
  kDoneAtOnce = 12,  // name: the operation; label: the plane;
                     // value: pack(ticks it took, bytes)
  kAwaited = 13,     // name: the operation for which a thread blocks
  kStepEnds = 14,    // A training step of this rank.
  kSpanBegins = 15,  // label: the work, "backward"; detail: the thread's number
  kSpanEnds = 16,    // As kSpanBegins.
  kMessageDone = 17,  // name: the operation; value: bytes
};

// The detail of kBatchBegins and kDoneAtOnce.
inline constexpr std::uint8_t kFirstOfCycle = 1;

// The detail of kBatchEnds.
enum class BatchEnd : std::uint8_t {
  kDone = 0,
  kAbandoned = 1,
  kFailed = 2,
  kGoesOnOnGpu = 3,  // kWorkEnds follows.
};

struct Event {
  std::uint64_t ticks = 0;
  EventKind kind{};
  std::uint8_t detail = 0;
  std::uint16_t label = 0;
  std::uint32_t name = 0;
  std::uint64_t value = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

// Two numbers of 32 bits in a value. A number that does not fit becomes the
// largest.
inline std::uint64_t pack(std::uint64_t high, std::uint64_t low) {
  constexpr std::uint64_t kMax = 0xffffffff;
  return (high < kMax ? high : kMax) << 32 | (low < kMax ? low : kMax);
}
inline std::uint32_t high_of(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
inline std::uint32_t low_of(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace hvd::trace
