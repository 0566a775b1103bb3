// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_nccl/windows.h"

#include <cstring>
#include <mutex>
#include <utility>

namespace fake_nccl {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.

std::uint64_t place_of(NcclComm comm, const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  for (std::size_t i = 0; i < comm->windows.size(); ++i) {
    const NcclWindow window = comm->windows[i];
    if (window != nullptr && address >= window->memory &&
        address < window->memory + window->bytes) {
      return (std::uint64_t{i} + 1) << 40 | (address - window->memory);
    }
  }
  return 0;
}

NcclResult look_at_windows(NcclComm comm) {
  Shared& shared = *comm->connection->memory->operator->();
  const Slot& mine = shared.slots[comm->connection->rank];
  const int count = mine.windows.load();
  for (int rank = 0; rank < comm->connection->ranks; ++rank) {
    const Slot& theirs = shared.slots[rank];
    if (theirs.windows.load() < count) return kNcclInProgress;
    if (std::memcmp(theirs.window_bytes, mine.window_bytes,
                    static_cast<std::size_t>(count) *
                        sizeof(mine.window_bytes[0])) != 0) {
      return kNcclInvalidArgument;
    }
  }
  std::size_t next = comm->windows.size() - comm->told.size();
  for (NcclWindow* const place : std::exchange(comm->told, {})) {
    *place = comm->windows[next++];
  }
  return kNcclSuccess;
}

void release(NcclWindow window) {
  const std::lock_guard lock(world().mutex);
  --world().registered[window->memory];
  delete window;
}

}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: C follows.

extern "C" {

NcclResult ncclMemAlloc(void** memory, std::size_t bytes) {
  const CuAddress address = of_cuda<decltype(fake_cuda_allocate_for_nccl)>(
      "fake_cuda_allocate_for_nccl")(bytes);
  if (address == 0) return kNcclSystemError;
  const std::lock_guard lock(world().mutex);
  world().memory[address] = bytes;
  *memory = reinterpret_cast<void*>(address);
  return kNcclSuccess;
}

NcclResult ncclMemFree(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  {
    const std::lock_guard lock(world().mutex);
    if (world().memory.count(address) == 0) return kNcclInvalidArgument;
    if (world().registered[address] > 0) {
      ++world().ended_too_early;
      return kNcclInvalidUsage;
    }
    world().memory.erase(address);
    world().registered.erase(address);
  }
  const bool is_free = of_cuda<decltype(fake_cuda_free_for_nccl)>(
                           "fake_cuda_free_for_nccl")(address) == 0;
  return is_free ? kNcclSuccess : kNcclSystemError;
}

NcclResult ncclCommWindowRegister(NcclComm comm, void* memory,
                                  std::size_t bytes, NcclWindow* window,
                                  int flags) {
  // Other registrations of the same group may be in progress.
  const bool may = is_usable(comm) || (exists(comm) && !comm->told.empty());
  if (!may || flags != kNcclWindowSymmetric) return kNcclInvalidUsage;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  Slot& slot = (*comm->connection->memory)->slots[comm->connection->rank];
  const int number = slot.windows.load();
  {
    const std::lock_guard lock(world().mutex);
    const auto found = world().memory.find(address);
    if (found == world().memory.end() || found->second < bytes ||
        number == kMaxWindows) {
      return kNcclInvalidArgument;
    }
    ++world().registered[address];
  }
  comm->windows.push_back(
      new hvd::collective::NcclWindowOfNccl{address, bytes});
  comm->told.push_back(window);
  slot.window_bytes[number] = bytes;
  slot.windows.store(number + 1);
  return kNcclInProgress;
}

NcclResult ncclCommWindowDeregister(NcclComm comm, NcclWindow window) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  for (NcclWindow& one : comm->windows) {
    if (one != window || window == nullptr) continue;
    release(std::exchange(one, nullptr));
    comm->polls = 1;
    return kNcclInProgress;
  }
  return kNcclInvalidArgument;
}

}  // extern "C"
