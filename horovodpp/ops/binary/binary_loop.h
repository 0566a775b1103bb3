// SPDX-License-Identifier: Apache-2.0
// Runs an operation on two tensors that a struct describes:
//
//   struct Fmod : OfNumbers {
//     static constexpr OperationName kName = "fmod";
//     template <typename T>
//     static T of(T a, T b) { return std::fmod(a, b); }
//   };
//   Tensor out = binary<Fmod>(a, b);
//
// 16-bit floating-point types are computed in float.
#pragma once

#include <type_traits>

#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/functions/pair_loops.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

// The bases of descriptions: the dtypes that an operation computes in.
struct OfAny {
  static DType dtype(DType promoted) { return promoted; }
  template <typename F>
  static void visit(DType dtype, const char*, F f) {
    hvd::visit(dtype, f);
  }
};
struct OfNumbers : OfAny {
  template <typename F>
  static void visit(DType dtype, const char* operation, F f) {
    visit_arithmetic(dtype, operation, f);
  }
};
struct OfIntegers : OfAny {
  template <typename F>
  static void visit(DType dtype, const char* operation, F f) {
    visit_integers(dtype, operation, f);
  }
};
struct OfBits : OfAny {  // Integers and bool.
  template <typename F>
  static void visit(DType dtype, const char* operation, F f) {
    if (dtype == DType::kBool) return f(TypeTag<bool>{});
    visit_integers(dtype, operation, f);
  }
};
struct OfFloats : OfAny {
  template <typename F>
  static void visit(DType dtype, const char* operation, F f) {
    visit_any_floating(dtype, operation, f);
  }
};
// Floating point; integers and bools as float32.
struct OfFloated : OfFloats {
  static DType dtype(DType promoted) { return floating_result(promoted); }
};

// Adds to a description: the result is bool.
template <typename Domain>
struct ToBool : Domain {
  static constexpr bool kToBool = true;
};
template <typename Op>
inline constexpr bool kToBool = requires {
  Op::kToBool;
};

// Adds to a description: integers must not be divided by 0.
template <typename Op>
inline constexpr bool kDivides = requires {
  Op::kDivides;
};
[[noreturn]] void throw_zero_divisor(const char* operation);
bool has_zero_integer(const Tensor& divisor);

// A description may name vector loops (kernel/functions), which compute it and
// its derivatives in float32 and the 16-bit types.
template <typename Op>
concept PairInVectors = requires {
  Op::kVector;
};

// A description may depend on the dtype of the elements, beyond that in which it
// computes: `of_stored<T>(a, b)`.
template <typename Op, typename T>
concept OfStored = requires(Loaded<T> a) {
  Op::template of_stored<T>(a, a);
};

// Op of two elements of type T, as loaded.
template <typename Op, typename T, typename Element>
auto of_elements(Element a, Element b) {
  if constexpr (OfStored<Op, T>) {
    return Op::template of_stored<T>(a, b);
  } else {
    return Op::of(a, b);
  }
}

// The dtype in which Op computes.
template <typename Op>
DType dtype_of(const Tensor& a, const Tensor& b) {
  return Op::dtype(a.dtype() == b.dtype() ? a.dtype() : result_type(a, b));
}

// out = Op(x, y), which have the dtype that Op computes in.
template <typename Op>
void run_binary(const Tensor& out, const Tensor& x, const Tensor& y) {
  constexpr const char* kOperation = Op::kName.text();
  if constexpr (kDivides<Op>) {
    if (has_zero_integer(y)) throw_zero_divisor(kOperation);
  }
  if constexpr (PairInVectors<Op>) {
    if (in_floats(x.dtype())) {
      run_function(pair_value_loop(Op::kVector), {}, out, {&x, &y});
      return;
    }
  }
  Op::visit(x.dtype(), kOperation, [&]<typename T>(TypeTag<T>) {
    using Out = std::conditional_t<kToBool<Op>, bool, T>;
    map2<T, Out>(out, x, y,
                 [](auto a, auto b) { return of_elements<Op, T>(a, b); });
  });
}

// Op(a, b). Not recorded.
template <typename Op>
Tensor computed(const Tensor& a, const Tensor& b) {
  const DType dtype = dtype_of<Op>(a, b);
  const Tensor x = in_dtype(a, dtype), y = in_dtype(b, dtype);
  Tensor out;
  if constexpr (kToBool<Op>) {
    out = empty(broadcast(x.shape(), y.shape(), Op::kName.text()),
                {.dtype = DType::kBool});
  } else {
    out = empty_for(x, y, Op::kName.text());
  }
  run_binary<Op>(out, x, y);
  return out;
}

// The same as an operation that a checkpoint may keep.
template <typename Op>
Tensor binary(const Tensor& a, const Tensor& b) {
  check_defined(a, Op::kName.text());
  check_defined(b, Op::kName.text());
  return result_of(Op::kName, [&] { return computed<Op>(a, b); });
}

// The same, for an operation without a derivative.
template <typename Op>
Tensor unrecorded_binary(const Tensor& a, const Tensor& b) {
  Tensor out = binary<Op>(a, b);
  report_reads(a, b);
  return out;
}

// A number as an operand beside x.
Tensor as_operand(Scalar number, const Tensor& x, const char* operation);

// a = operation(a, b), where the result fits a's dtype: `result` is that dtype.
// Recorded if the operation is.
using BinaryOperation = Tensor (*)(const Tensor&, const Tensor&);
const Tensor& assign_result(const Tensor& a, const Tensor& b,
                            BinaryOperation operation, DType result,
                            const char* name);

// x = f(x): computes a new tensor and copies it. `recorded`: whether f is.
template <typename F>
const Tensor& assign_function(const Tensor& x, bool recorded, const char* name,
                              F f) {
  check_inplace(x, recorded, name);
  // The derivative may need the old x.
  const Tensor result = f(recorded ? clone(x) : x);
  check_castable(result.dtype(), x, name);
  return x.copy_(result);
}

}  // namespace hvd::autograd
