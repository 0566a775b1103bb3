#include "horovodpp/nn/init.h"

#include <cmath>

#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/thread_state.h"

namespace hvd::nn {

Tensor uniform(const autograd::Dims& sizes, double bound, DType dtype) {
  NoGrad no_grad;
  Tensor result = rand(sizes, {.dtype = dtype}) * (2.0 * bound) - bound;
  result.set_requires_grad(true);
  return result;
}

double kaiming_uniform_bound(std::int64_t fan_in) {
  return 1.0 / std::sqrt(static_cast<double>(fan_in));
}

}  // namespace hvd::nn
