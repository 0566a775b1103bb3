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

void* map(int file, std::size_t bytes, int protection) {
  return mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
}

}  // namespace

std::uintptr_t DeviceMemory::allocate(std::size_t bytes, int device) {
  const std::size_t mapped = in_pages(bytes);
  const int file = memfd_create("fake gpu", MFD_CLOEXEC);
  if (file < 0) return 0;
  void* visible = MAP_FAILED;
  void* shown = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(mapped)) == 0) {
    visible = map(file, mapped, PROT_READ | PROT_WRITE);
    shown = map(file, mapped, PROT_NONE);
  }
  close(file);
  if (visible == MAP_FAILED || shown == MAP_FAILED) {
    if (visible != MAP_FAILED) munmap(visible, mapped);
    if (shown != MAP_FAILED) munmap(shown, mapped);
    return 0;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(shown);
  const std::lock_guard lock(mutex_);
  allocations_[address] = {bytes, mapped, static_cast<std::byte*>(visible),
                           device};
  return address;
}

bool DeviceMemory::free(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  munmap(found->second.visible, found->second.mapped);
  munmap(reinterpret_cast<void*>(address), found->second.mapped);
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
