// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/binary/logic_ops.h"

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/loops/integers.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// HVD_LOGIC(struct, name, dtypes, formula of a and b as T)
#define HVD_LOGIC(Name, name, Domain, formula)    \
  struct Name : Domain {                          \
    static constexpr OperationName kName = #name; \
    template <typename T>                         \
    static auto of(T a, T b) {                    \
      return formula;                             \
    }                                             \
  }

HVD_LOGIC(LogicalAnd, logical_and, ToBool<OfAny>, a != T(0) && b != T(0));
HVD_LOGIC(LogicalOr, logical_or, ToBool<OfAny>, a != T(0) || b != T(0));
HVD_LOGIC(LogicalXor, logical_xor, ToBool<OfAny>, (a != T(0)) != (b != T(0)));
HVD_LOGIC(BitwiseAnd, bitwise_and, OfBits, static_cast<T>(a& b));
HVD_LOGIC(BitwiseOr, bitwise_or, OfBits, static_cast<T>(a | b));
HVD_LOGIC(BitwiseXor, bitwise_xor, OfBits, static_cast<T>(a ^ b));
HVD_LOGIC(LeftShift, bitwise_left_shift, OfIntegers,
          integers::shifted_left(a, b));
HVD_LOGIC(RightShift, bitwise_right_shift, OfIntegers,
          integers::shifted_right(a, b));
#undef HVD_LOGIC

template <typename Op>
Tensor with_number(const Tensor& a, Scalar b) {
  return unrecorded_binary<Op>(a, as_operand(b, a, Op::kName.text()));
}

template <typename Op>
const Tensor& written(const Tensor& a, const Tensor& b) {
  check_defined(a, Op::kName.text());
  check_defined(b, Op::kName.text());
  // Truth values go into any dtype.
  const DType result = kToBool<Op> ? DType::kBool : dtype_of<Op>(a, b);
  return assign_result(a, b, unrecorded_binary<Op>, result, Op::kName.text());
}

}  // namespace
}  // namespace autograd

using autograd::unrecorded_binary;
using autograd::with_number;
using autograd::written;

// HVD_LOGICAL(name, struct): the function and its in-place form.
#define HVD_LOGICAL(name, Name)                             \
  Tensor name(const Tensor& a, const Tensor& b) {           \
    return unrecorded_binary<autograd::Name>(a, b);         \
  }                                                         \
  const Tensor& name##_(const Tensor& a, const Tensor& b) { \
    return written<autograd::Name>(a, b);                   \
  }
// The same, and the form with a number.
#define HVD_BITWISE(name, Name)               \
  HVD_LOGICAL(name, Name)                     \
  Tensor name(const Tensor& a, Scalar b) {    \
    return with_number<autograd::Name>(a, b); \
  }

HVD_LOGICAL(logical_and, LogicalAnd)
HVD_LOGICAL(logical_or, LogicalOr)
HVD_LOGICAL(logical_xor, LogicalXor)
HVD_BITWISE(bitwise_and, BitwiseAnd)
HVD_BITWISE(bitwise_or, BitwiseOr)
HVD_BITWISE(bitwise_xor, BitwiseXor)
HVD_BITWISE(bitwise_left_shift, LeftShift)
HVD_BITWISE(bitwise_right_shift, RightShift)
#undef HVD_BITWISE
#undef HVD_LOGICAL

Tensor bitwise_not(const Tensor& x) {
  autograd::check_defined(x, "bitwise_not");
  if (x.dtype() == DType::kBool) return logical_not(x);
  autograd::report_reads(x);
  return autograd::result_of("bitwise_not", [&] {
    const Tensor out = empty_like(x);
    autograd::visit_integers(
        x.dtype(), "bitwise_not", [&]<typename T>(TypeTag<T>) {
          autograd::map<T, T>(out, x, [](T v) { return static_cast<T>(~v); });
        });
    return out;
  });
}

const Tensor& logical_not_(const Tensor& a) { return a.copy_(logical_not(a)); }
const Tensor& bitwise_not_(const Tensor& a) { return a.copy_(bitwise_not(a)); }

}  // namespace hvd
