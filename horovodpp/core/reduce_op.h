// SPDX-License-Identifier: Apache-2.0
// ReduceOp says how the contributions of the ranks become one value. The
// properties of each are in reduce_arithmetic.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// The numbers are Horovod's, and travel between ranks.
enum class ReduceOp : std::uint8_t {
  kAverage = 0,
  kSum = 1,
  kAdasum = 2,
  kMin = 3,
  kMax = 4,
  kProduct = 5,
};

// "average", "sum", …, for messages.
std::string name_of(ReduceOp op);

// The op with this number on the wire, or nullopt.
std::optional<ReduceOp> reduce_op_from_wire(std::uint8_t number);

}  // namespace hvd
