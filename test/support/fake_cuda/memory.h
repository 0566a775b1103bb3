// SPDX-License-Identifier: Apache-2.0
// The memory of GPUs that do not exist. A program that reads or writes it without
// asking CUDA ends with a segmentation fault, as it deserves: what it is given is an
// inaccessible view of memory that this library sees elsewhere.
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

// A file of a process, for others to open.
struct FileTicket {
  int pid;
  int descriptor;

  // Negative if it cannot be opened.
  int open() const;
};

class DeviceMemory {
 public:
  // Plain memory can be shared with other processes, and be touched by GPUs that have
  // access to its own; what a pool has given, or NCCL, belongs to its GPU alone.
  enum class Kind { kPlain, kOfPool, kOfNccl };
  // 0 if there is no memory left.
  std::uintptr_t allocate(std::size_t bytes, int device,
                          Kind kind = Kind::kPlain);
  // False if it was not allocated here.
  bool free(std::uintptr_t address);
  // False if it was not opened here.
  bool close(std::uintptr_t address);

  // What another process opens an allocation by.
  struct Ticket {
    FileTicket file;
    std::size_t bytes;
    int device;
  };
  std::optional<Ticket> ticket_of(std::uintptr_t address);
  // Memory of another process; 0 if it cannot be had. What is open already is open once
  // more, where it is.
  std::uintptr_t open(const Ticket& ticket);

  struct Place {
    std::byte* visible;  // Where this library may touch it.
    int device;
    bool opened;  // It is another process's.
    Kind kind;
  };
  // Of `bytes` at an address; nothing if that is not, or not all, of one allocation.
  std::optional<Place> find(std::uintptr_t address, std::size_t bytes) const;
  // Whether any allocation touches the page that the address lies in.
  bool knows(std::uintptr_t address) const;

  std::size_t allocations() const;

  // Allocations that were freed while other processes had them open.
  std::size_t freed_too_early() const { return freed_too_early_; }

 private:
  struct Allocation {
    std::size_t bytes;   // As asked for,
    std::size_t mapped;  // and in whole pages.
    std::byte* visible;
    int file;
    int device;
    bool opened;
    Kind kind;
    // How many processes have it open; nullptr: no other has heard of it.
    std::atomic<int>* openers = nullptr;
    // Of what was opened: where it is from, and how often it has been.
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
  // By their size in whole pages: what was freed, and is given out again as it is.
  std::multimap<std::size_t, Views> free_;
  std::atomic<std::size_t> freed_too_early_{0};
};

}  // namespace fake_cuda
