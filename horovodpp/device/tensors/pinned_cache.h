// SPDX-License-Identifier: Apache-2.0
// The PinnedCache is pinned host memory for tensors, which GPUs copy from and to
// while the host goes on. To pin memory takes long, so freed blocks are kept,
// and reused when the work that reads or writes them is done.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_context.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

class PinnedCache {
 public:
  // All GPUs use the memory; it is pinned in `context`.
  explicit PinnedCache(const CudaContext& context) : context_(context) {}
  PinnedCache(const PinnedCache&) = delete;
  PinnedCache& operator=(const PinnedCache&) = delete;

  // nullptr for 0 bytes.
  //   ResourceExhausted  the host cannot pin so much memory
  absl::StatusOr<std::byte*> allocate(std::size_t bytes);
  void release(std::byte* memory);

  // Whether `memory` points into a block of this cache.
  bool holds(const void* memory) const;
  // Work in `stream` of a GPU that has been enqueued by now uses `memory`, of
  // this cache.
  absl::Status note_use(const void* memory, const CudaContext& context,
                        CuStream stream);

  // Returns all memory that no tensor has to the system.
  void empty();

  struct Stats {
    std::int64_t current_bytes = 0;  // As tensors asked for it.
    std::int64_t peak_bytes = 0;
    std::int64_t reserved_bytes = 0;
  };
  Stats stats() const;
  void reset_peak();

 private:
  struct Block {
    std::unique_ptr<PinnedMemory> memory;
    std::size_t size = 0;
    std::size_t asked = 0;
    bool is_used = false;
    std::vector<CudaEvent> uses = {};
  };
  using Blocks = std::map<std::byte*, Block>;

  Blocks::iterator find_free(std::size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Blocks::const_iterator holding(const void* memory) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CudaContext context_;
  mutable Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);  // By address.
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
