// SPDX-License-Identifier: Apache-2.0
// The memory through which ranks of a fake communicator exchange data: a slot
// for each rank, in two halves, and a box for each pair. The memory is an
// unnamed file, reached through the process that created it, so that nothing
// stays behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "horovodpp/collective/nccl/api.h"

namespace fake_nccl {

inline constexpr int kMostRanks = 8;
inline constexpr int kMaxWindows = 64;
inline constexpr std::size_t kSlotBytes = 16 << 10;
inline constexpr std::size_t kBoxBytes = 4 << 10;

struct alignas(64) Slot {
  std::atomic<std::uint64_t> arrived;  // Steps that this rank has published.
  std::atomic<int> joined;             // 1 + its GPU.
  std::atomic<int> process;            // Set before.
  std::atomic<int> left;               // It has finalized.
  std::atomic<int> windows;            // Number of registered windows.
  std::uint64_t window_bytes[kMaxWindows];
  std::uint64_t places[2];  // Position in windows of a step's data.
  alignas(64) std::byte halves[2][kSlotBytes];
};

// A message in flight from one rank to another.
struct alignas(64) Box {
  std::atomic<std::uint64_t> sent;
  std::atomic<std::uint64_t> taken;
  std::uint64_t bytes;  // Of the whole message.
  alignas(64) std::byte part[kBoxBytes];
};

struct Shared {
  Slot slots[kMostRanks];
  Box boxes[kMostRanks][kMostRanks];  // [from][to]
};

// A mapping of the shared memory.
class Mapping {
 public:
  // Creates memory, and an id for other processes to open. The memory lives
  // until this process ends.
  static bool make(hvd::collective::NcclUniqueId* id);
  // nullptr: the process that created the memory is gone.
  static std::unique_ptr<Mapping> open(const hvd::collective::NcclUniqueId& id);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Shared* operator->() const { return shared_; }

 private:
  explicit Mapping(Shared* shared) : shared_(shared) {}
  Shared* const shared_;
};

}  // namespace fake_nccl
