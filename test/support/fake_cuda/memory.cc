// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace fake_cuda {
namespace {

std::size_t in_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// An inaccessible view of new memory, and one to read and write.
std::optional<std::pair<std::uintptr_t, std::byte*>> map_twice(
    std::size_t bytes) {
  const int file = memfd_create("fake gpu", MFD_CLOEXEC);
  if (file < 0) return std::nullopt;
  void* shown = MAP_FAILED;
  void* visible = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    shown = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    visible = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (shown != MAP_FAILED && visible != MAP_FAILED) {
    return std::pair(reinterpret_cast<std::uintptr_t>(shown),
                     static_cast<std::byte*>(visible));
  }
  if (shown != MAP_FAILED) munmap(shown, bytes);
  if (visible != MAP_FAILED) munmap(visible, bytes);
  return std::nullopt;
}

}  // namespace

std::uintptr_t DeviceMemory::allocate(std::size_t bytes, int device) {
  const std::size_t mapped = in_pages(bytes);
  const std::lock_guard lock(mutex_);
  auto spare = free_.find(mapped);
  if (spare == free_.end()) {
    const auto views = map_twice(mapped);
    if (!views) return 0;
    spare = free_.emplace(mapped, *views);
  }
  const auto [address, visible] = spare->second;
  free_.erase(spare);
  allocations_[address] = {bytes, mapped, visible, device};
  return address;
}

bool DeviceMemory::free(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  free_.emplace(found->second.mapped,
                std::pair(address, found->second.visible));
  allocations_.erase(found);
  return true;
}

DeviceMemory::Allocations::const_iterator DeviceMemory::holding(
    std::uintptr_t address) const {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  const auto before = std::prev(after);
  const bool inside = address - before->first < before->second.mapped;
  return inside ? before : allocations_.end();
}

std::optional<DeviceMemory::Place> DeviceMemory::find(std::uintptr_t address,
                                                      std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = holding(address);
  if (found == allocations_.end()) return std::nullopt;
  const std::size_t offset = address - found->first;
  if (offset + bytes > found->second.bytes) return std::nullopt;
  return Place{found->second.visible + offset, found->second.device};
}

bool DeviceMemory::knows(std::uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  return holding(address) != allocations_.end();
}

std::size_t DeviceMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_.size();
}

}  // namespace fake_cuda
