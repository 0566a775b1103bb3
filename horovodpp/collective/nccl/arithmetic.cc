// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/arithmetic.h"

#include <cmath>

namespace hvd::collective {
namespace {

std::optional<NcclDType> type_of(DType dtype) {
  switch (dtype) {
    case DType::kU8:
    case DType::kBool:
      return kNcclUint8;
    case DType::kI8:
      return kNcclInt8;
    case DType::kI16:
      return std::nullopt;
    case DType::kI32:
      return kNcclInt32;
    case DType::kI64:
      return kNcclInt64;
    case DType::kF16:
      return kNcclFloat16;
    case DType::kBF16:
      return kNcclBfloat16;
    case DType::kF32:
      return kNcclFloat32;
    case DType::kF64:
      return kNcclFloat64;
  }
  return std::nullopt;
}

std::optional<NcclOp> op_of(const Reduction& reduction) {
  const ReduceOpRow& row = describe(reduction.op);
  const auto combining = row.combining(kind_of(reduction.dtype));
  if (row.whole_tensors || !combining) return std::nullopt;
  return describe(*combining).nccl;
}

// Multiplying by a power of two is exact in every floating-point type, within
// its range.
bool is_power_of_two(double number) {
  int exponent = 0;
  return std::abs(std::frexp(number, &exponent)) == 0.5 && exponent > -14 &&
         exponent < 15;
}

bool multiplies_well(DType dtype, double scale) {
  if (is_power_of_two(scale)) return true;
  if (dtype == DType::kF64) return std::isnormal(scale);
  return dtype == DType::kF32 && std::isnormal(static_cast<float>(scale));
}

}  // namespace

std::optional<NcclReduction> nccl_reduction(const Reduction& reduction,
                                            int ranks) {
  const auto type = type_of(reduction.dtype);
  const auto op = op_of(reduction);
  if (!type || !op) return std::nullopt;
  const bool is_average = describe(reduction.op).divides;
  const double scale = reduction.prescale * reduction.postscale;
  NcclReduction found = {.type = *type, .op = *op};
  if (!is_average && reduction.prescale == 1 && reduction.postscale == 1) {
    return found;
  }
  if (*op != kNcclSum || !is_floating_point(reduction.dtype) ||
      !multiplies_well(reduction.dtype, scale)) {
    return std::nullopt;
  }
  found.factor = scale / divisor_of(reduction, ranks);
  return found;
}

}  // namespace hvd::collective
