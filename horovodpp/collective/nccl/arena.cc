// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/arena.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/nccl/library.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::StatusOr<std::shared_ptr<std::byte>> NcclArena::allocate(
    const NcclApi& nccl, const device::CudaContext& context,
    std::size_t bytes) {
  const device::CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  void* place = nullptr;
  const absl::Status status =
      status_of(nccl, nccl.ncclMemAlloc(&place, bytes), "ncclMemAlloc");
  if (!status.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes on GPU ", context.index,
                     ": ", status.message()));
  }
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(place),
      [context, give_back = nccl.ncclMemFree](std::byte* gone) {
        const device::CurrentContext owner(context);
        give_back(gone);
      });
  const MutexLock lock(mutex_);
  known_.push_back({.memory = memory, .bytes = bytes, .gpu = context.index});
  return memory;
}

std::vector<NcclArena::Block> NcclArena::blocks_on(int gpu) {
  const MutexLock lock(mutex_);
  known_.erase(
      std::remove_if(known_.begin(), known_.end(),
                     [](const Known& one) { return one.memory.expired(); }),
      known_.end());
  std::vector<Block> blocks;
  for (const Known& one : known_) {
    if (one.gpu != gpu) continue;
    if (auto memory = one.memory.lock()) {
      blocks.push_back({.memory = std::move(memory), .bytes = one.bytes});
    }
  }
  return blocks;
}

}  // namespace hvd::collective
