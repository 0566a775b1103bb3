// SPDX-License-Identifier: Apache-2.0
// An NcclArena records the GPU memory that NCCL has allocated for one rank.
// When a communicator is created, all its ranks register this memory with it,
// in the order of allocation. NCCL then moves tensors in it by its fast paths,
// and without a copy.
//
//   HVD_ASSIGN_OR_RETURN(auto memory, arena.allocate(nccl, context, bytes));
//
// reform() passes it on to the next job, and its memory may outlive it.
// Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_driver.h"

namespace hvd::collective {

class NcclArena {
 public:
  // The largest number of blocks, oldest first, that are registered with a
  // communicator.
  static constexpr std::size_t kMostWindows = 32;

  struct Block {
    std::shared_ptr<std::byte> memory = {};
    std::size_t bytes = 0;
  };

  // Allocates on the GPU of `context`; `nccl` must have the functions. The
  // memory is freed when its last owner releases it. A communicator that it is
  // registered with is an owner. No work may use the memory at that time.
  //   ResourceExhausted  the GPU has not enough memory left
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(
      const NcclApi& nccl, const device::CudaContext& context,
      std::size_t bytes);

  // The blocks on GPU `gpu`, in the order of allocation.
  std::vector<Block> blocks_on(int gpu);

 private:
  struct Known {
    std::weak_ptr<std::byte> memory;
    std::size_t bytes;
    int gpu;
  };

  Mutex mutex_;
  std::vector<Known> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::collective
