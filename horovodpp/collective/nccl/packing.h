// SPDX-License-Identifier: Apache-2.0
// Many small tensors are put together by one kernel, so that NCCL moves them as one, and
// taken apart by another. They are scaled on the way.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

class NcclPacking {
 public:
  // From so many tensors on, of so many bytes at most on average. (What pays has not
  // been measured on a GPU yet.)
  static constexpr std::size_t kLeastPieces = 8;
  static constexpr std::size_t kMostBytesOfEach = std::size_t{256} << 10;

  // Of tensors on GPU `gpu`; `gpus` outlives this.
  static absl::StatusOr<std::unique_ptr<NcclPacking>> make(device::Gpus& gpus,
                                                           int gpu);

  // Depends on nothing but its arguments.
  static bool is_for(std::span<const Piece> pieces, DType dtype);
  // What pack() and unpack() put into a stream at most: memory, and kernels.
  static std::size_t operations(std::span<const Piece> pieces);

  // Memory for all of them, for what is put into `stream` until it is taken apart.
  struct Packed {
    std::byte* memory = nullptr;
    std::size_t elements = 0;
    std::vector<std::size_t> places = {};  // Of each piece, in bytes.
  };
  absl::StatusOr<Packed> pack(device::CudaStream& stream,
                              std::span<const Piece> pieces, DType dtype,
                              double factor);
  absl::Status unpack(device::CudaStream& stream, std::span<const Piece> pieces,
                      DType dtype, const Packed& packed);

 private:
  NcclPacking(const device::CudaKernels& kernels,
              std::unique_ptr<device::CudaPool> pool)
      : kernels_(kernels), pool_(std::move(pool)) {}

  const device::CudaKernels& kernels_;
  const std::unique_ptr<device::CudaPool> pool_;
};

}  // namespace hvd::collective
