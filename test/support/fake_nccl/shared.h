// SPDX-License-Identifier: Apache-2.0
// The memory by which the ranks of one communicator of the stand-in exchange what they
// have: a slot for each rank, in two halves, and a box for each pair. It is a file in
// memory that is reached through the process that made it, so that nothing stays behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "horovodpp/collective/nccl/api.h"

namespace fake_nccl {

inline constexpr int kMostRanks = 8;
inline constexpr int kMostWindows = 64;
inline constexpr std::size_t kSlotBytes = 16 << 10;
inline constexpr std::size_t kBoxBytes = 4 << 10;

struct alignas(64) Slot {
  std::atomic<std::uint64_t> arrived;  // How many steps this rank has shown.
  std::atomic<int> joined;             // 1 + its GPU.
  std::atomic<int> left;               // It has finalized.
  std::atomic<int> windows;            // How many it has registered,
  std::uint64_t window_bytes[kMostWindows];
  std::uint64_t places[2];  // Where what it shows in a step lies.
  alignas(64) std::byte halves[2][kSlotBytes];
};

// What is on its way from one rank to another.
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

// A view of it.
class Mapping {
 public:
  // New memory, and the id by which others find it; kept by this process until it ends.
  static bool make(hvd::collective::NcclUniqueId* id);
  // nullptr: the process that made it is gone.
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
