// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <string>

namespace fake_cuda {
namespace {

std::size_t in_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

int FileTicket::open() const {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

// Maps two views of a file: an inaccessible one, and one to read and write.
std::optional<DeviceMemory::Views> DeviceMemory::map_twice(int file,
                                                           std::size_t bytes) {
  void* const shown = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* const visible =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shown != MAP_FAILED && visible != MAP_FAILED) {
    return Views{reinterpret_cast<std::uintptr_t>(shown),
                 static_cast<std::byte*>(visible), file};
  }
  if (shown != MAP_FAILED) munmap(shown, bytes);
  if (visible != MAP_FAILED) munmap(visible, bytes);
  return std::nullopt;
}

std::optional<DeviceMemory::Views> DeviceMemory::make(std::size_t bytes) {
  const int file = memfd_create("fake gpu", MFD_CLOEXEC);
  if (file < 0) return std::nullopt;
  // An extra page holds the number of processes that have the memory open.
  if (ftruncate(file, static_cast<off_t>(bytes + in_pages(1))) == 0) {
    if (const auto views = map_twice(file, bytes)) return views;
  }
  ::close(file);
  return std::nullopt;
}

std::uintptr_t DeviceMemory::allocate(std::size_t bytes, int device,
                                      Kind kind) {
  const std::size_t mapped = in_pages(bytes);
  const std::lock_guard lock(mutex_);
  auto spare = free_.find(mapped);
  if (spare == free_.end()) {
    const auto views = make(mapped);
    if (!views) return 0;
    spare = free_.emplace(mapped, *views);
  }
  const Views views = spare->second;
  free_.erase(spare);
  allocations_[views.shown] = {bytes,  mapped, views.visible, views.file,
                               device, false,  kind};
  return views.shown;
}

// The count follows the memory.
std::atomic<int>* DeviceMemory::openers_of(int file, std::size_t mapped) {
  void* const page =
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
           MAP_SHARED, file, static_cast<off_t>(mapped));
  return page == MAP_FAILED ? nullptr : static_cast<std::atomic<int>*>(page);
}

std::optional<DeviceMemory::Ticket> DeviceMemory::ticket_of(
    std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.opened ||
      found->second.kind != Kind::kPlain) {
    return std::nullopt;
  }
  std::atomic<int>*& openers = found->second.openers;
  if (openers == nullptr) {
    openers = openers_of(found->second.file, found->second.mapped);
  }
  if (openers == nullptr) return std::nullopt;
  return Ticket{{getpid(), found->second.file},
                found->second.bytes,
                found->second.device};
}

std::uintptr_t DeviceMemory::open(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  for (auto& [address, known] : allocations_) {
    if (!known.opened || known.from.pid != ticket.file.pid ||
        known.from.descriptor != ticket.file.descriptor) {
      continue;
    }
    ++known.times;
    return address;
  }
  const int file = ticket.file.open();
  if (file < 0) return 0;
  const std::size_t mapped = in_pages(ticket.bytes);
  const auto views = map_twice(file, mapped);
  std::atomic<int>* const openers = openers_of(file, mapped);
  ::close(file);
  if (!views || openers == nullptr) return 0;
  ++*openers;
  allocations_[views->shown] = {.bytes = ticket.bytes,
                                .mapped = mapped,
                                .visible = views->visible,
                                .file = -1,
                                .device = ticket.device,
                                .opened = true,
                                .kind = Kind::kPlain,
                                .openers = openers,
                                .from = ticket.file};
  return views->shown;
}

bool DeviceMemory::close(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || !found->second.opened) return false;
  Allocation& gone = found->second;
  if (--gone.times > 0) return true;
  --*gone.openers;
  munmap(reinterpret_cast<void*>(address), gone.mapped);
  munmap(gone.visible, gone.mapped);
  munmap(gone.openers, sizeof(*gone.openers));
  allocations_.erase(found);
  return true;
}

bool DeviceMemory::free(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.opened) return false;
  const Allocation& gone = found->second;
  if (gone.openers != nullptr) {
    if (gone.openers->load() > 0) ++freed_too_early_;
    munmap(gone.openers, sizeof(*gone.openers));
  }
  free_.emplace(gone.mapped, Views{address, gone.visible, gone.file});
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
  return Place{found->second.visible + offset, found->second.device,
               found->second.opened, found->second.kind};
}

bool DeviceMemory::knows(std::uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  return holding(address) != allocations_.end();
}

std::size_t DeviceMemory::bytes_of(int device) const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [address, one] : allocations_) {
    if (one.device == device && !one.opened) bytes += one.bytes;
  }
  return bytes;
}

std::size_t DeviceMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_.size();
}

}  // namespace fake_cuda
