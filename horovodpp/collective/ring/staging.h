// SPDX-License-Identifier: Apache-2.0
// Staging is the memory through which a plane sends and receives: slots of
// equal size, aligned to a cache line, mapped at their first use.
//
// After a failure a peer or the network may still use a posted slot. retire()
// then leaves the slot mapped for good, and another one takes its place. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"

namespace hvd::collective {

class Staging {
 public:
  Staging(int slots, std::size_t slot_bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int slots() const { return static_cast<int>(slots_.size()); }
  // The requested size, rounded up to a cache line.
  std::size_t slot_bytes() const { return slot_bytes_; }

  // Makes all slots usable; free if they are.
  //   ResourceExhausted  not enough memory
  absl::Status map();

  // 0 <= index < slots(), after map().
  std::byte* slot(int index) const {
    return slots_[static_cast<std::size_t>(index)];
  }

  // Retires `slot`; map() allocates a new one.
  void retire(std::byte* slot);

 private:
  const std::size_t slot_bytes_;
  std::vector<std::byte*> slots_;  // nullptr: not mapped.
};

}  // namespace hvd::collective
