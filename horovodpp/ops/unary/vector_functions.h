// SPDX-License-Identifier: Apache-2.0
// The values of a function of each element, and its gradients: by vector loops
// (kernel/functions) if its struct names one, else element by element.
//
//   struct Hardtanh {
//     static constexpr OperationName kOperation = "hardtanh";
//     static constexpr FunctionId kVector = FunctionId::kHardtanh;
//     Constants constants() const { return numbers_of(low, high); }
//     template <typename T>
//     T value(T x) const;                // For double.
//     double low = -1.0, high = 1.0;
//   };
#pragma once

#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/functions/function_loops.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

template <typename F>
concept InVectors = requires {
  F::kVector;
};

// Parameters of a vector loop.
template <typename... Numbers>
Constants numbers_of(Numbers... numbers) {
  return {static_cast<float>(numbers)...};
}

template <typename F>
Constants constants_of(const F& f) {
  if constexpr (requires { f.constants(); }) {
    return f.constants();
  } else {
    return {};
  }
}

// f(x). Not recorded.
//   InvalidArgument  x is not of floating point
template <typename F>
Tensor values_of(const Tensor& x, const F& f) {
  constexpr const char* kName = F::kOperation.text();
  check_defined(x, kName);
  Tensor out = empty_like(x);
  const auto each = [&]<typename T>(TypeTag<T>) {
    map<T, T>(out, x, [f](auto v) { return f.value(v); });
  };
  if constexpr (InVectors<F>) {
    if (in_floats(x.dtype())) {
      run_function(value_loop(F::kVector), constants_of(f), out, {&x});
    } else if (x.dtype() == DType::kF64) {
      each(TypeTag<double>{});
    } else {
      throw_bad_dtype(x.dtype(), kName, "floating point");
    }
  } else {
    visit_any_floating(x.dtype(), kName, each);
  }
  return out;
}

// The gradients of x, for those of f(x); `each` computes one. Not recorded.
template <typename F, typename Each>
Tensor gradients_of(const Tensor& dy, const Tensor& x, const F& f, Each each) {
  constexpr const char* kName = F::kOperation.text();
  check_same_dtype(dy, x, kName);
  Tensor out = empty_for(dy, x, kName);
  if constexpr (InVectors<F>) {
    if (in_floats(x.dtype())) {
      run_function(slope_loop(F::kVector), constants_of(f), out, {&dy, &x});
    } else {
      map2<double>(out, dy, x, each);
    }
  } else {
    visit_any_floating(x.dtype(), kName, [&]<typename T>(TypeTag<T>) {
      map2<T>(out, dy, x, each);
    });
  }
  return out;
}

}  // namespace hvd::autograd
