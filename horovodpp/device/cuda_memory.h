// SPDX-License-Identifier: Apache-2.0
// Memory from CUDA: GPU memory, and pinned host memory, which GPUs copy
// directly.
//
//   HVD_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> rows,
//                        allocate_on(context, bytes));
//   PinnedMemory staging(context);
//   HVD_ASSIGN_OR_RETURN(std::byte* place, staging.at_least(bytes));
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

// Memory on the GPU. After its last owner releases it, it is freed once all
// work that the GPU has at that time has ended, in any stream. The owner does
// not wait for that.
//   ResourceExhausted  the GPU has not enough memory left, also after a wait
//                      for memory that is being freed
absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(
    const CudaContext& context, std::size_t bytes);

// Pinned memory that grows; the old memory is freed as above. Not thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(const CudaContext& context) : context_(context) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // At least so many bytes, valid until the next call. Growing loses the
  // contents.
  //   ResourceExhausted  the host cannot pin so much memory
  absl::StatusOr<std::byte*> at_least(std::size_t bytes);

 private:
  void release();

  const CudaContext context_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Host memory of another owner, pinned. It stays pinned and owned as long as
// this object, and until all work that the GPU has at its end is done.
class PinnedRange {
 public:
  //   ResourceExhausted  it cannot be pinned; says why
  static absl::StatusOr<std::unique_ptr<PinnedRange>> pin(
      const CudaContext& context, std::shared_ptr<void> memory,
      std::size_t bytes);
  ~PinnedRange();
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;

 private:
  PinnedRange(const CudaContext& context, std::shared_ptr<void> memory)
      : context_(context), memory_(std::move(memory)) {}

  const CudaContext context_;
  const std::shared_ptr<void> memory_;
};

// A pool of GPU memory that is allocated and freed in the order of a stream,
// without a wait for the GPU, and reused. Thread-safe.
class CudaPool {
 public:
  static absl::StatusOr<std::unique_ptr<CudaPool>> create(
      const CudaContext& context);
  // Destroy it after all its memory was freed.
  ~CudaPool();
  CudaPool(const CudaPool&) = delete;
  CudaPool& operator=(const CudaPool&) = delete;

  // Allocates for later work in `stream`.
  //   ResourceExhausted  the GPU has not enough memory left
  absl::StatusOr<std::byte*> allocate(const CudaStream& stream,
                                      std::size_t bytes) const;
  // Frees after all work in `stream` so far.
  absl::Status free(const CudaStream& stream, std::byte* memory) const;

 private:
  CudaPool(const CudaContext& context, CuPool pool)
      : context_(context), pool_(pool) {}

  const CudaContext context_;
  const CuPool pool_;
};

}  // namespace hvd::device
