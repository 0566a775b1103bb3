// SPDX-License-Identifier: Apache-2.0
// The BlockCache is the memory of tensors on one GPU. It takes segments from the
// driver, divides them into blocks, and keeps freed blocks for the next tensors:
// the driver's own allocation and freeing wait for the GPU.
//
//   HVD_ASSIGN_OR_RETURN(std::byte* block, cache.allocate(bytes, stream));
//   ...                                    // enqueue work in `stream` that uses it
//   cache.release(block);                  // at once: the work need not be done
//
// Memory is reused in the order of its stream, so nobody waits. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_context.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/tensors/gpu_memory_stats.h"

namespace hvd::device {

class BlockCache {
 public:
  explicit BlockCache(const CudaContext& context) : context_(context) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Memory, aligned to 512 bytes, for later work in `stream` (nullptr: the
  // legacy default stream); nullptr for 0 bytes.
  //   ResourceExhausted  the GPU has not enough memory left, also after all
  //                      spare segments were returned to it; says how much
  //                      there is, and what to do
  absl::StatusOr<std::byte*> allocate(std::size_t bytes, CuStream stream);

  // Takes back memory of allocate(). Work that uses it may be enqueued still:
  // in its own stream, or in streams of note_use().
  void release(std::byte* memory);

  // Work in `stream` that has been enqueued by now uses `memory`, which may
  // point into a block. Needed for other streams than the block's own; memory
  // that is not of this cache is ignored.
  absl::Status note_use(const void* memory, CuStream stream);

  // Returns all segments to the GPU of which no tensor has a part. They are
  // freed when the GPU's work is done.
  void empty();

  GpuMemoryStats stats() const;
  // Restarts the peaks at the current bytes.
  void reset_peaks();

 private:
  struct Segment {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
    CuStream stream = nullptr;
    bool is_small = false;
  };
  // Of free blocks: the best fit of a stream is the first that is large enough.
  using Key = std::tuple<CuStream, bool, std::size_t, std::byte*>;
  using FreeBlocks = std::set<Key>;
  struct Block {
    std::shared_ptr<Segment> segment;
    std::size_t size = 0;
    std::size_t asked = 0;
    bool is_used = true;
    // The block's entry while it is used, so that release() need not allocate.
    FreeBlocks::node_type entry = {};
    // In other streams than the segment's: their last work on the block.
    std::vector<std::pair<CuStream, CudaEvent>> uses = {};
  };
  using Blocks = std::map<std::byte*, Block>;

  absl::StatusOr<Blocks::iterator> found_or_reserved(std::size_t size,
                                                     CuStream stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status reserve(std::size_t size, CuStream stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Blocks::iterator find_free(std::size_t size, CuStream stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void split(Blocks::iterator block, std::size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void insert_free(Blocks::iterator block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Joins the block `next` to `block` if both are free parts of a segment.
  void join(Blocks::iterator block, Blocks::iterator next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status wait_for_uses(Block& block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void return_spare_segments() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status exhausted(std::size_t bytes, const absl::Status& why) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Blocks::iterator holding(const void* memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Key key_of(const Blocks::iterator& block);

  const CudaContext context_;
  mutable Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);  // All, by address.
  FreeBlocks free_ ABSL_GUARDED_BY(mutex_);
  GpuMemoryStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
