// SPDX-License-Identifier: Apache-2.0
// Runs functors (functors.h) over tensors. float32 and the 16-bit types, which
// are computed in float32, use vector loops; other dtypes run element by
// element. Operands of different dtypes are converted to that of the result.
//
//   Tensor y = elementwise<functors::Tanh>(x, "tanh");
#pragma once

#include <cstddef>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/functions/loop_type.h"
#include "horovodpp/kernel/loops/float_loops.h"
#include "horovodpp/kernel/loops/functors.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

// The tensors of a functor, all of one dtype: x and y broadcast to the shape of
// `out`, which may be one of them, and which is on their GPU, if they are on one.
// Null for an ignored y.
struct Operands {
  const Tensor& out;
  const Tensor& x;
  const Tensor* y = nullptr;
  double c = 0.0;
};

// InvalidArgument if one of an operation's dtypes is bool.
void check_no_bool(DType a, DType b, const char* operation);

[[noreturn]] void throw_fraction(const Tensor& x, double constant,
                                 const char* operation);

// The dtypes that a functor takes besides floating point.
struct TakenTypes {
  bool integers = false;
  bool bools = false;
};
// Runs a functor on the GPU of `out`. An operand without dimensions may be on the
// CPU.
//   InvalidArgument  operands are on different devices; as run(), below
void run_there(LoopId function, TakenTypes taken, const Operands& operands,
               const char* operation);

// x on `device`: itself or, if it is on the CPU and has no dimensions, a copy.
//   InvalidArgument  it is elsewhere; names `operation` and `out`, of `device`
Tensor brought_to(const Tensor& out, const Tensor& x, const char* operation);

// A loop over rows of float32: the inputs, the output, the number of elements.
using RowLoop =
    absl::FunctionRef<void(const float* const*, float*, std::size_t)>;

// Runs `loop` over one to three inputs of the output's dtype, which broadcast to
// its shape. `out` may be one of them. Threads call `loop` at once. For float32,
// bfloat16 or float16.
void run_row_loop(RowLoop loop, const Tensor& out,
                  std::initializer_list<const Tensor*> in);

// The same for a function of kernel/functions.
void run_function(FunctionLoop loop, const Constants& constants,
                  const Tensor& out, std::initializer_list<const Tensor*> in);

// Whether the loops compute in float for this dtype.
inline bool in_floats(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

// The loop that computes F of x and one y for all elements, c being y, for an F
// whose operands may change places; else null.
template <typename F>
FloatLoop loop_of_number() {
  if constexpr (std::is_same_v<F, functors::Add>) {
    return float_loop(LoopId::kAddScalar);
  } else if constexpr (std::is_same_v<F, functors::Mul>) {
    return float_loop(LoopId::kMulScalar);
  } else {
    return nullptr;
  }
}

// For float32, bfloat16 or float16. `of_number` as from loop_of_number().
void run_loop(FloatLoop loop, FloatLoop of_number, const Operands& operands);

// c as a T, modulo its range; for integers c must be whole.
//   InvalidArgument  c is not whole; names `operation`
template <typename T>
T constant_of(const Operands& operands, const char* operation) {
  if constexpr (std::is_integral_v<T>) {
    const auto whole = scalar_to<std::int64_t>(operands.c);
    if (static_cast<double>(whole) != operands.c) {
      throw_fraction(operands.x, operands.c, operation);
    }
    return static_cast<T>(whole);
  } else {
    return static_cast<T>(operands.c);
  }
}

template <typename F, typename T>
void run_each(const Operands& operands, const char* operation) {
  const T c = constant_of<T>(operands, operation);
  if (operands.y == nullptr) {
    map2<T>(operands.out, operands.x, operands.x,
            [c](T x, T) { return F()(x, T(), c); });
  } else {
    map2<T>(operands.out, operands.x, *operands.y,
            [c](T x, T y) { return F()(x, y, c); });
  }
}

// Bools add as `or`, and multiply as `and`.
template <typename F>
inline constexpr bool kTakesBools =
    std::is_same_v<F, functors::Add> || std::is_same_v<F, functors::Mul> ||
    std::is_same_v<F, functors::AddScalar> ||
    std::is_same_v<F, functors::MulScalar>;

// InvalidArgument for a dtype that F does not support, and for integers with a
// constant that is not whole; names `operation`.
template <typename F>
void run(const Operands& operands, const char* operation) {
  const DType dtype = operands.out.dtype();
  if (!operands.out.device().is_cpu()) [[unlikely]] {
    return run_there(F::kLoop,
                     {.integers = F::kTakesIntegers, .bools = kTakesBools<F>},
                     operands, operation);
  }
  if (in_floats(dtype)) {
    run_loop(float_loop(F::kLoop), loop_of_number<F>(), operands);
  } else if (dtype == DType::kF64) {
    run_each<F, double>(operands, operation);
  } else if constexpr (F::kTakesIntegers) {
    if constexpr (kTakesBools<F>) {
      if (dtype == DType::kBool) return run_each<F, bool>(operands, operation);
    }
    visit_arithmetic(dtype, operation, [&]<typename T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>) run_each<F, T>(operands, operation);
    });
  } else {
    throw_bad_dtype(dtype, operation, "floating point");
  }
}

// Runs F into a new tensor; not recorded.
template <typename F>
Tensor elementwise(const Tensor& x, const char* operation, double c = 0.0) {
  check_defined(x, operation);
  Tensor out = empty_like(x);
  run<F>({.out = out, .x = x, .c = c}, operation);
  return out;
}
template <typename F>
Tensor elementwise(const Tensor& x, const Tensor& y, const char* operation,
                   double c = 0.0) {
  check_defined(x, operation);
  check_defined(y, operation);
  if (x.dtype() != y.dtype() ||
      (!F::kTakesIntegers && !is_floating_point(x.dtype()))) [[unlikely]] {
    DType dtype = result_type(x, y);
    if (!F::kTakesIntegers) dtype = floating_result(dtype);
    return elementwise<F>(in_dtype(x, dtype), in_dtype(y, dtype), operation, c);
  }
  Tensor out = empty_for(x, y, operation);
  run<F>({.out = out, .x = x, .y = &y, .c = c}, operation);
  return out;
}

// f(x) for each element, for operations without a vector loop.
template <typename F>
Tensor floating(const Tensor& x, const char* operation, F f) {
  check_defined(x, operation);
  Tensor out = empty_like(x);
  visit_any_floating(x.dtype(), operation,
                     [&]<typename T>(TypeTag<T>) { map<T, T>(out, x, f); });
  return out;
}

}  // namespace hvd::autograd
