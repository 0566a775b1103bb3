// Staging is the memory through which a plane sends and receives: slots of
// equal size, aligned to a cache line, mapped when they are first needed.
//
// After a failure a peer or the network may still read what was posted from
// here; keep_mapped() then leaves the memory mapped when the Staging is gone.
// Not thread-safe.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace hvd::collective {

class Staging {
 public:
  Staging(int slots, std::size_t slot_bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int slots() const { return slots_; }
  // What was asked for, rounded up to a cache line.
  std::size_t slot_bytes() const { return slot_bytes_; }

  // Makes the slots usable; repeated calls cost nothing.
  //   ResourceExhausted  the memory is not to be had
  absl::Status map();

  // 0 <= index < slots(), after map().
  std::byte* slot(int index) const {
    return memory_ + static_cast<std::size_t>(index) * slot_bytes_;
  }

  void keep_mapped() { kept_ = true; }

 private:
  const int slots_;
  const std::size_t slot_bytes_;
  std::byte* memory_ = nullptr;
  bool kept_ = false;
};

}  // namespace hvd::collective
