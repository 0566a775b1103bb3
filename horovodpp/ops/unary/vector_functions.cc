// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary/vector_functions.h"

namespace hvd::autograd {

void run_function(FunctionLoop loop, const Constants& constants,
                  const Tensor& out, std::initializer_list<const Tensor*> in) {
  run_row_loop(
      [loop, &constants](const float* const* rows, float* to, std::size_t n) {
        loop(rows, constants, to, n);
      },
      out, in);
}

}  // namespace hvd::autograd
