// SPDX-License-Identifier: Apache-2.0
// Dispatch on the dtypes that an operation supports.
//
//   visit_floating(x.dtype(), "sort", [&]<typename T>(TypeTag<T>) {
//     sort(x.data<T>());
//   });
#pragma once

#include <type_traits>

#include "horovodpp/core/dtype.h"

namespace hvd::autograd {

[[noreturn]] void throw_bad_dtype(DType dtype, const char* operation,
                                  const char* supported);

// Calls f with the TypeTag of float or double.
//   InvalidArgument  any other dtype; names `operation`
template <typename F>
void visit_floating(DType dtype, const char* operation, F f) {
  if (dtype == DType::kF32) {
    f(TypeTag<float>{});
  } else if (dtype == DType::kF64) {
    f(TypeTag<double>{});
  } else {
    throw_bad_dtype(dtype, operation, "float32 and float64");
  }
}

// The same with the 16-bit types.
template <typename F>
void visit_any_floating(DType dtype, const char* operation, F f) {
  if (dtype == DType::kBF16) {
    f(TypeTag<bf16>{});
  } else if (dtype == DType::kF16) {
    f(TypeTag<f16>{});
  } else if (dtype == DType::kF32) {
    f(TypeTag<float>{});
  } else if (dtype == DType::kF64) {
    f(TypeTag<double>{});
  } else {
    throw_bad_dtype(dtype, operation, "floating point");
  }
}

// The same with the integers.
template <typename F>
void visit_arithmetic(DType dtype, const char* operation, F f) {
  if (dtype == DType::kBool) {
    throw_bad_dtype(dtype, operation, "integers and floating point");
  }
  visit(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (!std::is_same_v<T, bool>) f(tag);
  });
}

// Calls f with the TypeTag of an integer type, not bool.
//   InvalidArgument  any other dtype; names `operation`
template <typename F>
void visit_integers(DType dtype, const char* operation, F f) {
  if (dtype == DType::kBool || is_floating_point(dtype)) {
    throw_bad_dtype(dtype, operation, "integers");
  }
  visit(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f(tag);
  });
}

}  // namespace hvd::autograd
