// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/binary/binary_loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"

namespace hvd::autograd {

void throw_zero_divisor(const char* operation) {
  throw InvalidArgument(
      absl::StrCat(operation,
                   ": an integer is divided by 0; replace zeros with where(), "
                   "or convert the tensor to floating point with to()"));
}

bool has_zero_integer(const Tensor& divisor) {
  if (is_floating_point(divisor.dtype())) return false;
  bool found = false;
  visit(divisor.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto walk = walk_as_stored<1>(divisor.shape(), {divisor.strides()});
    const std::int64_t step = walk.row_steps()[0];
    const T* y = divisor.data<T>();
    walk.for_each_row([&](const auto& at) {
      for (std::int64_t i = 0; i < walk.row_size(); ++i) {
        found |= y[at[0] + i * step] == T(0);
      }
    });
  });
  return found;
}

Tensor as_operand(Scalar number, const Tensor& x, const char* operation) {
  check_defined(x, operation);
  return full({}, number.value(), {.dtype = result_type(x, number)});
}

const Tensor& assign_result(const Tensor& a, const Tensor& b,
                            BinaryOperation operation, DType result,
                            const char* name) {
  check_castable(result, a, name);
  // The derivative may need the old a.
  const bool recorded = needs_grad(a, b);
  check_inplace(a, recorded, name);
  return a.copy_(operation(recorded ? clone(a) : a, b));
}

}  // namespace hvd::autograd
