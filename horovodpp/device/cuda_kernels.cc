// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_kernels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/kernels/images.h"
#include "horovodpp/device/kernels/names.h"

namespace hvd::device {
namespace {

using kernels::CopyArguments;

constexpr const char* kCopy = "hvd_copy";
constexpr const char* kJudge = "hvd_judge";

const char* suffix_of(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return "u8";
    case DType::kI8:
      return "i8";
    case DType::kI16:
      return "i16";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kBool:
      break;
  }
  return "bool";
}

std::uint32_t tiles_of(std::int64_t count, std::int64_t tile) {
  return static_cast<std::uint32_t>((count + tile - 1) / tile);
}

// Calls f(arguments) for each grid that `pieces` take, with its table filled
// in.
template <typename F>
absl::Status for_each_grid(std::span<const CudaKernels::Piece> pieces,
                           std::int64_t tile, F f) {
  for (std::size_t next = 0; next < pieces.size();) {
    CopyArguments arguments;
    for (; next < pieces.size() && arguments.piece_count < kernels::kMostPieces;
         ++next) {
      if (pieces[next].count == 0) continue;
      CudaKernels::Piece& piece = arguments.pieces[arguments.piece_count++];
      piece = pieces[next];
      piece.tiles_before = arguments.tiles;
      arguments.tiles += tiles_of(piece.count, tile);
    }
    if (arguments.tiles > 0) HVD_RETURN_IF_ERROR(f(arguments));
  }
  return absl::OkStatus();
}

unsigned blocks_of(const CopyArguments& arguments) {
  return std::min(arguments.tiles, kernels::kMostBlocks);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaKernels>> CudaKernels::load(
    const CudaContext& context) {
#define HVD_NAME(name, ...) #name,
  HVD_ASSIGN_OR_RETURN(
      auto module, CudaModule::load(context, kernels::images(),
                                    {kCopy, kJudge,
                                     HVD_CONVERSIONS(HVD_NAME) HVD_LOOKS(
                                         HVD_NAME) HVD_REDUCTIONS(HVD_NAME)}));
#undef HVD_NAME
  return std::unique_ptr<CudaKernels>(new CudaKernels(std::move(module)));
}

absl::Status CudaKernels::launch(CudaStream& stream, const std::string& name,
                                 unsigned blocks, void* arguments) const {
  return module_->launch(name, blocks, arguments, stream.handle());
}

absl::Status CudaKernels::copy(CudaStream& stream,
                               std::span<const Piece> pieces) const {
  return for_each_grid(
      pieces, kernels::kTileBytes, [&](CopyArguments& arguments) {
        return launch(stream, kCopy, arguments.tiles, &arguments);
      });
}

bool CudaKernels::converts(DType from, DType to) {
  const auto is_half = [](DType dtype) {
    return dtype == DType::kF16 || dtype == DType::kBF16;
  };
  if (from == to) return is_floating_point(from);
  return (is_half(from) && to == DType::kF32) ||
         (from == DType::kF32 && is_half(to));
}

absl::Status CudaKernels::convert(CudaStream& stream,
                                  std::span<const Piece> pieces,
                                  const Conversion& conversion) const {
  if (!converts(conversion.from, conversion.to)) {
    return absl::InternalError(absl::StrCat("there is no kernel that makes ",
                                            name_of(conversion.to), " of ",
                                            name_of(conversion.from)));
  }
  const std::string name =
      absl::StrCat("hvd_convert_", suffix_of(conversion.from), "_",
                   suffix_of(conversion.to));
  kernels::Sighting* sightings = conversion.sightings;
  return for_each_grid(pieces, kernels::kTileElements,
                       [&](CopyArguments& arguments) -> absl::Status {
                         arguments.scale = conversion.scale;
                         arguments.factor = conversion.factor;
                         arguments.sightings = sightings;
                         const unsigned blocks = blocks_of(arguments);
                         if (sightings != nullptr) sightings += blocks;
                         return launch(stream, name, blocks, &arguments);
                       });
}

absl::Status CudaKernels::look(CudaStream& stream, DType dtype,
                               std::span<const Piece> pieces,
                               kernels::Sighting* sightings) const {
  const std::string name = absl::StrCat("hvd_look_", suffix_of(dtype));
  return for_each_grid(pieces, kernels::kTileElements,
                       [&](CopyArguments& arguments) -> absl::Status {
                         arguments.sightings = sightings;
                         const unsigned blocks = blocks_of(arguments);
                         sightings += blocks;
                         return launch(stream, name, blocks, &arguments);
                       });
}

absl::Status CudaKernels::judge(
    CudaStream& stream, const kernels::JudgeArguments& arguments) const {
  kernels::JudgeArguments copy = arguments;
  return launch(stream, kJudge, 1, &copy);
}

std::size_t CudaKernels::sightings_of(std::span<const Piece> pieces) {
  std::size_t blocks = 0;
  for_each_grid(pieces, kernels::kTileElements,
                [&](const CopyArguments& arguments) {
                  blocks += blocks_of(arguments);
                  return absl::OkStatus();
                })
      .IgnoreError();
  return blocks;
}

bool CudaKernels::reduces(const Arithmetic& arithmetic) {
  const ReduceOpRow& row = describe(arithmetic.op);
  const ElementKind kind = kind_of(arithmetic.dtype);
  if (row.whole_tensors || !row.combining(kind)) return false;
  return kind == ElementKind::kFloat || !arithmetic.scaled;
}

absl::Status CudaKernels::reduce(
    CudaStream& stream, DType dtype,
    const kernels::ReduceArguments& arguments) const {
  if (arguments.count == 0) return absl::OkStatus();
  constexpr std::int64_t kVectorBytes = 16;
  const std::int64_t lanes =
      kVectorBytes / static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t vectors = (arguments.count + lanes - 1) / lanes;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
      tiles_of(vectors, kernels::kThreads), kernels::kMostBlocks));
  kernels::ReduceArguments copy = arguments;
  copy.op = describe(arguments.op).combining(kind_of(dtype)).value();
  return launch(stream, absl::StrCat("hvd_reduce_", suffix_of(dtype)), blocks,
                &copy);
}

}  // namespace hvd::device
