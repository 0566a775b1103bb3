// SPDX-License-Identifier: Apache-2.0
// The CudaKernels are the kernels of one GPU: they copy, convert, look at and reduce
// many tensors with one launch each.
//
//   HVD_ASSIGN_OR_RETURN(const CudaKernels* kernels, gpus.kernels(0));
//   HVD_RETURN_IF_ERROR(kernels->copy(stream, pieces));
//   HVD_RETURN_IF_ERROR(kernels->reduce(stream, DType::kF32, arguments));
//
// What they read and write is memory of their GPU, of one that it may access, or pinned.
// Results have the bits of the CPU's loops, except that a GPU makes one NaN of all in
// 16 bits. Immutable, thread-safe; errors are Internal, with the driver's words.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/kernels/arguments.h"

namespace hvd::device {

class CudaKernels {
 public:
  using Piece = kernels::CopiedPiece;  // tiles_before is filled in here.

  //   Internal  the driver takes none of the images there are; says why
  static absl::StatusOr<std::unique_ptr<CudaKernels>> load(
      const CudaContext& context);
  ~CudaKernels();
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  // More pieces take more launches.
  static constexpr std::size_t kPiecesOfLaunch = kernels::kMostPieces;

  // Copies every piece; counts are in bytes.
  absl::Status copy(CudaStream& stream, std::span<const Piece> pieces) const;

  struct Conversion {
    DType from = DType::kF32;
    DType to = DType::kF32;
    double scale = 1.0;
    // Where on the GPU there is another one, by the time that this is done; nullptr:
    // nowhere.
    const double* factor = nullptr;
    // Where to put what each block has seen of its numbers before they were scaled:
    // room for sightings_of(pieces). nullptr: nowhere.
    kernels::Sighting* sightings = nullptr;
  };
  // Whether there is one between these types: between equal ones, and f32 and 16 bits.
  static bool converts(DType from, DType to);
  // to = scale * from, for every piece; counts are in elements.
  absl::Status convert(CudaStream& stream, std::span<const Piece> pieces,
                       const Conversion& conversion) const;
  // Only looks at the numbers of every piece, which are floating-point ones; counts are
  // in elements. Equal numbers give equal sightings, wherever they lie.
  absl::Status look(CudaStream& stream, DType dtype,
                    std::span<const Piece> pieces,
                    kernels::Sighting* sightings) const;
  // Makes the findings of what was seen.
  absl::Status judge(CudaStream& stream,
                     const kernels::JudgeArguments& arguments) const;
  // How many blocks look at these pieces: no more than one for each 4096 elements, and
  // 1024 for each 120 pieces.
  static std::size_t sightings_of(std::span<const Piece> pieces);

  // Whether results are finished here: integers only where nothing scales.
  struct Arithmetic {
    DType dtype = DType::kF32;
    ReduceOp op = ReduceOp::kSum;
    bool scaled = false;  // Or averaged.
  };
  static bool reduces(const Arithmetic& arithmetic);
  // Of one element that is reduced, but not finished.
  static std::size_t accumulator_bytes(DType dtype);
  absl::Status reduce(CudaStream& stream, DType dtype,
                      const kernels::ReduceArguments& arguments) const;

 private:
  CudaKernels(const CudaContext& context, CuModule module)
      : context_(context), module_(module) {}

  absl::Status find_all();
  absl::Status launch(CudaStream& stream, const std::string& name,
                      unsigned blocks, void* arguments) const;

  const CudaContext context_;
  const CuModule module_;
  std::map<std::string, CuFunction> functions_;
};

}  // namespace hvd::device
