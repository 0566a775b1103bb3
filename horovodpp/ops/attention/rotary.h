// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al., "RoFormer", 2021).
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/attention/rotary_scaling.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Rotates pair i of the elements of each row by position / base^(2i / width), or
// as `scaling` says: x [..., rows, width] -> the same. The angles have no
// derivative.
//   InvalidArgument  the width is odd, or there is not a position for each row
Tensor rotary_embedding(const Tensor& x, const RotaryOptions& options = {});

}  // namespace hvd
