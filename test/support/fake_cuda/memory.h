// SPDX-License-Identifier: Apache-2.0
// The memory of GPUs that do not exist. A program gets an inaccessible view,
// which this library sees elsewhere. A program that touches the memory without
// CUDA therefore gets a segmentation fault.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace fake_cuda {

// A file of a process that others can open.
struct FileTicket {
  int pid;
  int descriptor;

  // Negative if the file cannot be opened.
  int open() const;
};

class DeviceMemory {
 public:
  // Plain memory can be shared with other processes, and GPUs with peer access
  // can touch it. Memory from a pool or from NCCL belongs to its GPU alone.
  enum class Kind { kPlain, kOfPool, kOfNccl };
  // 0 if memory is exhausted.
  std::uintptr_t allocate(std::size_t bytes, int device,
                          Kind kind = Kind::kPlain);
  // False if the memory was not allocated here.
  bool free(std::uintptr_t address);
  // False if the memory was not opened here.
  bool close(std::uintptr_t address);

  // Identifies an allocation to other processes.
  struct Ticket {
    FileTicket file;
    std::size_t bytes;
    int device;
  };
  std::optional<Ticket> ticket_of(std::uintptr_t address);
  // Opens memory of another process; 0 on failure. A second open returns the
  // same address and counts.
  std::uintptr_t open(const Ticket& ticket);

  struct Place {
    std::byte* visible;  // Where this library may touch it.
    int device;
    bool opened;  // Of another process.
    Kind kind;
  };
  // The place of `bytes` at an address; nullopt unless all lie in one
  // allocation.
  std::optional<Place> find(std::uintptr_t address, std::size_t bytes) const;
  // Whether any allocation touches the page of the address.
  bool knows(std::uintptr_t address) const;

  std::size_t allocations() const;
  // Of this process's allocations.
  std::size_t bytes_of(int device) const;

  // The number of allocations freed while other processes had them open.
  std::size_t freed_too_early() const { return freed_too_early_; }

 private:
  struct Allocation {
    std::size_t bytes;   // As requested.
    std::size_t mapped;  // In whole pages.
    std::byte* visible;
    int file;
    int device;
    bool opened;
    Kind kind;
    // The number of processes that have it open; nullptr: never shared.
    std::atomic<int>* openers = nullptr;
    // For opened memory: its origin, and the number of opens.
    FileTicket from = {};
    int times = 1;
  };
  // Two views of one file.
  struct Views {
    std::uintptr_t shown;
    std::byte* visible;
    int file;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;

  static std::optional<Views> map_twice(int file, std::size_t bytes);
  static std::optional<Views> make(std::size_t bytes);
  static std::atomic<int>* openers_of(int file, std::size_t mapped);
  Allocations::const_iterator holding(std::uintptr_t address) const;

  mutable std::mutex mutex_;
  Allocations allocations_;
  // Freed memory by size in whole pages, reused as it is.
  std::multimap<std::size_t, Views> free_;
  std::atomic<std::size_t> freed_too_early_{0};
};

}  // namespace fake_cuda
