// SPDX-License-Identifier: Apache-2.0
// The memory of GPUs that do not exist. A program that reads or writes it without
// asking CUDA ends with a segmentation fault, as it deserves: what it is given is an
// inaccessible view of memory that this library sees elsewhere.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace fake_cuda {

class DeviceMemory {
 public:
  // 0 if there is no memory left.
  std::uintptr_t allocate(std::size_t bytes, int device);
  // False if it was not allocated here.
  bool free(std::uintptr_t address);

  struct Place {
    std::byte* visible;  // Where this library may touch it.
    int device;
  };
  // Of `bytes` at an address; nothing if that is not, or not all, of one allocation.
  std::optional<Place> find(std::uintptr_t address, std::size_t bytes) const;
  // Whether any allocation touches the page that the address lies in.
  bool knows(std::uintptr_t address) const;

  std::size_t allocations() const;

 private:
  struct Allocation {
    std::size_t bytes;   // As asked for,
    std::size_t mapped;  // and in whole pages.
    std::byte* visible;
    int device;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;

  Allocations::const_iterator holding(std::uintptr_t address) const;

  mutable std::mutex mutex_;
  Allocations allocations_;
  // By their size in whole pages: what was freed, and is given out again as it is.
  std::multimap<std::size_t, std::pair<std::uintptr_t, std::byte*>> free_;
};

}  // namespace fake_cuda
