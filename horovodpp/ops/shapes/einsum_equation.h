// SPDX-License-Identifier: Apache-2.0
// The equation of einsum(), with a label for each dimension of each operand.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// A letter, or the number of a dimension of "..." (see kEllipsisLabel).
using Label = int;
using Labels = std::vector<Label>;

// The label of the last dimension of "..."; the one before is 1 larger.
inline constexpr Label kEllipsisLabel = 256;

struct EinsumEquation {
  std::vector<Labels> operands;
  Labels result;
};

//   InvalidArgument  the equation is malformed or does not fit the operands
EinsumEquation parse_einsum(const std::string& equation,
                            const std::vector<Tensor>& operands);

}  // namespace hvd::autograd
