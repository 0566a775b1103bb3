// SPDX-License-Identifier: Apache-2.0
// Packs many small tensors by one kernel, so that NCCL moves them as one, and
// unpacks them by another. The kernels also scale them.
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
  // Packing begins at this number of tensors, if their average size is small.
  // (The best values have not been measured on a GPU.)
  static constexpr std::size_t kMinPieces = 8;
  static constexpr std::size_t kMaxBytesPerPiece = std::size_t{256} << 10;

  // For tensors on GPU `gpu`; `gpus` outlives this object.
  static absl::StatusOr<std::unique_ptr<NcclPacking>> make(device::Gpus& gpus,
                                                           int gpu);

  // Whether to pack; depends only on its arguments.
  static bool is_for(std::span<const Piece> pieces, DType dtype);
  // The most operations of pack() and unpack(): memory and kernels.
  static std::size_t operations(std::span<const Piece> pieces);

  // Memory for all tensors, valid for work in `stream` until they are unpacked.
  struct Packed {
    std::byte* memory = nullptr;
    std::size_t elements = 0;
    std::vector<std::size_t> places = {};  // Byte offset of each piece.
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
