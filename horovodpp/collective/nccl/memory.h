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
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_driver.h"

namespace hvd::collective {

class NcclArena {
 public:
  // The largest number of blocks, oldest first, that are registered with a
  // communicator.
  static constexpr std::size_t kMaxWindows = 32;

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

// NcclWindows is the memory that ranks have registered with a communicator; it
// finds the places of tensors in it. NCCL requires a tensor to lie at the same
// place of a window on all ranks, or in none on any. So ranks compare their
// tensors' places by a mark.
//
//   NcclPlacement where(windows);
//   where.add(tensor, bytes);
//   ... where.mark() is equal on all ranks: NCCL takes it ...
//
// Not thread-safe.
class NcclWindows {
 public:
  // Adds the next window; all ranks add theirs in one order.
  void add(const std::byte* memory, std::size_t bytes) {
    all_.push_back({memory, bytes});
  }
  bool empty() const { return all_.empty(); }

  struct Place {
    std::size_t window;
    std::size_t offset;
  };
  // nullopt: it lies in none.
  std::optional<Place> find(const void* memory, std::size_t bytes) const;

  // Joins pieces that follow each other in a window. All of them must lie in
  // windows.
  std::vector<Piece> joined(std::span<const Piece> pieces, DType dtype) const;

 private:
  struct Window {
    const std::byte* memory;
    std::size_t bytes;
  };
  std::vector<Window> all_;
};

class NcclPlacement {
 public:
  // `windows` outlives this object.
  explicit NcclPlacement(const NcclWindows& windows) : windows_(windows) {}

  void add(const void* memory, std::size_t bytes);

  // The mark of all added tensors, in order.
  std::uint64_t mark() const { return mark_; }
  // Whether all added tensors lie in windows, and there is at least one.
  bool is_within() const { return any_ && !is_outside_; }

 private:
  const NcclWindows& windows_;
  std::uint64_t mark_ = 0;
  bool any_ = false;
  bool is_outside_ = false;
};

}  // namespace hvd::collective
