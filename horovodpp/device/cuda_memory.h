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

#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_driver.h"

namespace hvd::device {

// Memory on the GPU. It goes back when its last owner lets go, and whatever works
// with it by then has ended: that may block the owner's thread.
//   ResourceExhausted  the GPU has not that much left
absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(
    const CudaContext& context, std::size_t bytes);

// A piece of pinned memory that grows. Not thread-safe.
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

}  // namespace hvd::device
