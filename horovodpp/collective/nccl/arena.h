// SPDX-License-Identifier: Apache-2.0
// An NcclArena knows the memory of GPUs that NCCL has allocated for one rank. When a
// communicator is made, all its ranks register with it what they have, in the order of
// allocation; then NCCL moves tensors there by its fast paths, and without a copy.
//
//   HVD_ASSIGN_OR_RETURN(auto memory, arena.allocate(nccl, context, bytes));
//
// It goes on with reform(), and its memory may outlive it. Thread-safe.
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
  // With a communicator are registered no more of them, the oldest ones.
  static constexpr std::size_t kMostWindows = 32;

  struct Block {
    std::shared_ptr<std::byte> memory = {};
    std::size_t bytes = 0;
  };

  // Memory on the GPU of `context`, by functions that `nccl` has. It goes back when its
  // last owner lets go, of which a communicator that it is registered with is one;
  // nothing works with it by then.
  //   ResourceExhausted  the GPU has not that much left
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(
      const NcclApi& nccl, const device::CudaContext& context,
      std::size_t bytes);

  // What there is on GPU `gpu`, in the order in which it was allocated.
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
