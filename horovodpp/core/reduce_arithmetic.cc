// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/reduce_arithmetic.h"

#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace hvd {

std::string name_of(ReduceOp op) {
  const auto number = static_cast<std::uint8_t>(op);
  if (!reduce_op_from_wire(number)) return absl::StrCat("op ", number);
  return describe(op).name;
}

std::optional<ReduceOp> reduce_op_from_wire(std::uint8_t number) {
  if (number >= std::size(kReduceOps)) return std::nullopt;
  return static_cast<ReduceOp>(number);
}

}  // namespace hvd
