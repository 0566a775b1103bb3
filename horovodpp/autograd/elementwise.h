// What elementwise operations on floating-point tensors have in common.
#pragma once

#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"

namespace hvd::autograd {

// f(x) for each element, in a tensor of its own; not recorded. Refuses dtypes
// that are not floating, naming `operation`.
template <typename F>
Tensor floating(const Tensor& x, const char* operation, F f) {
  check_defined(x, operation);
  Tensor out = empty_like(x);
  visit_any_floating(x.dtype(), operation,
                     [&]<typename T>(TypeTag<T>) { map<T, T>(out, x, f); });
  return out;
}

}  // namespace hvd::autograd
