// SPDX-License-Identifier: Apache-2.0
// The CudaKernels are the kernels of one GPU: each launch copies, converts,
// inspects or reduces many tensors.
//
//   HVD_ASSIGN_OR_RETURN(const CudaKernels* kernels, gpus.kernels(0));
//   HVD_RETURN_IF_ERROR(kernels->copy(stream, pieces));
//   HVD_RETURN_IF_ERROR(kernels->reduce(stream, DType::kF32, arguments));
//
// They read and write memory of their GPU, of a GPU that it may access, or
// pinned memory. Results have the bits of the CPU's loops, except that a GPU
// maps all 16-bit NaNs to one. Immutable, thread-safe; errors are Internal,
// with the driver's words.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/device/cuda_context.h"
#include "horovodpp/device/cuda_module.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/kernels/arguments.h"

namespace hvd::device {

class CudaKernels {
 public:
  using Piece = kernels::CopiedPiece;  // tiles_before is filled in here.

  //   Internal  the driver accepts no image; says why
  static absl::StatusOr<std::unique_ptr<CudaKernels>> load(
      const CudaContext& context);

  // Pieces per launch; more pieces take more launches.
  static constexpr std::size_t kPiecesOfLaunch = kernels::kMostPieces;

  // Copies every piece; counts are in bytes.
  absl::Status copy(CudaStream& stream, std::span<const Piece> pieces) const;

  struct Conversion {
    DType from = DType::kF32;
    DType to = DType::kF32;
    double scale = 1.0;
    // An additional factor in GPU memory, which is read when the kernel runs;
    // nullptr: none.
    const double* factor = nullptr;
    // Receives each block's findings about its numbers before scaling: room for
    // sightings_of(pieces). nullptr: none wanted.
    kernels::Sighting* sightings = nullptr;
  };
  // Whether the conversion exists: between equal types, and between f32 and 16
  // bits.
  static bool converts(DType from, DType to);
  // to = scale * from, for every piece; counts are in elements.
  absl::Status convert(CudaStream& stream, std::span<const Piece> pieces,
                       const Conversion& conversion) const;
  // Only inspects the numbers of every piece, which are floating-point; counts
  // are in elements. Equal numbers give equal sightings, wherever they lie.
  absl::Status look(CudaStream& stream, DType dtype,
                    std::span<const Piece> pieces,
                    kernels::Sighting* sightings) const;
  // Makes the findings from the sightings.
  absl::Status judge(CudaStream& stream,
                     const kernels::JudgeArguments& arguments) const;
  // The number of blocks that inspect these pieces: at most one for each 4096
  // elements, and 1024 for each 120 pieces.
  static std::size_t sightings_of(std::span<const Piece> pieces);

  // Whether reductions are supported: of integers only without scaling.
  struct Arithmetic {
    DType dtype = DType::kF32;
    ReduceOp op = ReduceOp::kSum;
    bool scaled = false;  // Or averaged.
  };
  static bool reduces(const Arithmetic& arithmetic);
  absl::Status reduce(CudaStream& stream, DType dtype,
                      const kernels::ReduceArguments& arguments) const;

 private:
  explicit CudaKernels(std::unique_ptr<CudaModule> module)
      : module_(std::move(module)) {}

  absl::Status launch(CudaStream& stream, const std::string& name,
                      unsigned blocks, void* arguments) const;

  const std::unique_ptr<const CudaModule> module_;
};

}  // namespace hvd::device
