// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/packing.h"

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kAlignment = 16;  // The kernels' vectors.

}  // namespace

absl::StatusOr<std::unique_ptr<NcclPacking>> NcclPacking::make(
    device::Gpus& gpus, int gpu) {
  HVD_ASSIGN_OR_RETURN(const device::CudaKernels* const kernels,
                       gpus.kernels(gpu));
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus.driver());
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
  HVD_ASSIGN_OR_RETURN(auto pool, device::CudaPool::create(context));
  return std::unique_ptr<NcclPacking>(
      new NcclPacking(*kernels, std::move(pool)));
}

bool NcclPacking::is_for(std::span<const Piece> pieces, DType dtype) {
  return pieces.size() >= kMinPieces &&
         static_cast<std::size_t>(total_count(pieces)) * size_of(dtype) <=
             pieces.size() * kMaxBytesPerPiece;
}

std::size_t NcclPacking::operations(std::span<const Piece> pieces) {
  return 2 * (pieces.size() / device::CudaKernels::kPiecesOfLaunch + 2);
}

absl::StatusOr<NcclPacking::Packed> NcclPacking::pack(
    device::CudaStream& stream, std::span<const Piece> pieces, DType dtype,
    double factor) {
  Packed packed;
  std::size_t end = 0;
  for (const Piece& piece : pieces) {
    packed.places.push_back(end);
    end += (bytes_of(piece, dtype) + kAlignment - 1) / kAlignment * kAlignment;
  }
  packed.elements = end / size_of(dtype);
  HVD_ASSIGN_OR_RETURN(packed.memory, pool_->allocate(stream, end));
  const bool scales = factor != 1.0;
  std::vector<device::CudaKernels::Piece> copies;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    copies.push_back({.from = pieces[i].input,
                      .to = packed.memory + packed.places[i],
                      .count = scales ? pieces[i].count
                                      : static_cast<std::int64_t>(
                                            bytes_of(pieces[i], dtype))});
  }
  HVD_RETURN_IF_ERROR(
      scales ? kernels_.convert(stream, copies,
                                {.from = dtype, .to = dtype, .scale = factor})
             : kernels_.copy(stream, copies));
  return packed;
}

absl::Status NcclPacking::unpack(device::CudaStream& stream,
                                 std::span<const Piece> pieces, DType dtype,
                                 const Packed& packed) {
  std::vector<device::CudaKernels::Piece> copies;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    copies.push_back(
        {.from = packed.memory + packed.places[i],
         .to = pieces[i].output,
         .count = static_cast<std::int64_t>(bytes_of(pieces[i], dtype))});
  }
  HVD_RETURN_IF_ERROR(kernels_.copy(stream, copies));
  return pool_->free(stream, packed.memory);
}

}  // namespace hvd::collective
