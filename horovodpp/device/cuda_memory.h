// SPDX-License-Identifier: Apache-2.0
// Memory that CUDA gives: of a GPU, and of the host where GPUs copy to and from it
// without a detour ("pinned").
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

// Memory on the GPU. When its last owner has let go, it is freed as soon as the work that
// the GPU has by then has ended, in whatever stream; the owner does not wait for that.
//   ResourceExhausted  the GPU has not that much left, nor after a wait for memory that is
//                      to be freed
absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(
    const CudaContext& context, std::size_t bytes);

// A piece of pinned memory that grows; what it leaves is freed as above. Not thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(const CudaContext& context) : context_(context) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // At least so many bytes, valid until the next call; what was there before is
  // lost if it has to grow.
  //   ResourceExhausted  the host has not that much that can be pinned
  absl::StatusOr<std::byte*> at_least(std::size_t bytes);

 private:
  void release();

  const CudaContext context_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Memory of the host that somebody else has allocated. It is pinned, and held, as long as this
// lives, and until the work that the GPU has by then has ended.
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

// Memory of a GPU that is allocated and freed in the order of a stream, without a wait
// for the GPU, and that the pool keeps for the next time. Thread-safe.
class CudaPool {
 public:
  static absl::StatusOr<std::unique_ptr<CudaPool>> create(
      const CudaContext& context);
  // After all that was allocated from it has gone back.
  ~CudaPool();
  CudaPool(const CudaPool&) = delete;
  CudaPool& operator=(const CudaPool&) = delete;

  // For what is put into `stream` after this.
  //   ResourceExhausted  the GPU has not that much left
  absl::StatusOr<std::byte*> allocate(const CudaStream& stream,
                                      std::size_t bytes) const;
  // After what is in `stream` by now.
  absl::Status free(const CudaStream& stream, std::byte* memory) const;

 private:
  CudaPool(const CudaContext& context, CuPool pool)
      : context_(context), pool_(pool) {}

  const CudaContext context_;
  const CuPool pool_;
};

}  // namespace hvd::device
