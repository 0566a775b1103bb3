// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/reduce_op.h"

#include "absl/strings/str_cat.h"

namespace hvd {

std::string name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage:
      return "average";
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kAdasum:
      return "adasum";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kProduct:
      return "product";
  }
  return absl::StrCat("op ", static_cast<int>(op));
}

}  // namespace hvd
