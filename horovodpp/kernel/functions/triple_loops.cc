// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/functions/triple_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/functions/triple_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/functions/lane_loop.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

namespace triples {

// Exact at both ends: computed from the nearer one.
HWY_INLINE Floats between(Floats x, Floats a, Floats weight) {
  const Floats gap = hn::Sub(a, x);
  const Floats rest = hn::Sub(number(1.0f), weight);
  return hn::IfThenElse(hn::Lt(hn::Abs(weight), number(0.5f)),
                        hn::MulAdd(weight, gap, x),
                        hn::NegMulAdd(gap, rest, a));
}

struct Lerp {
  static constexpr std::size_t kInputs = 3;
  static HWY_INLINE Floats apply(Floats x, Floats a, Floats weight,
                                 const Numbers&) {
    return between(x, a, weight);
  }
};
struct LerpNumber {
  static constexpr std::size_t kInputs = 2;
  static HWY_INLINE Floats apply(Floats x, Floats a, Floats, const Numbers& c) {
    return between(x, a, c.a);
  }
};
struct Addcmul {
  static constexpr std::size_t kInputs = 3;
  static HWY_INLINE Floats apply(Floats x, Floats a, Floats b,
                                 const Numbers& c) {
    return hn::Add(x, hn::Mul(hn::Mul(c.a, a), b));
  }
};
struct Addcdiv {
  static constexpr std::size_t kInputs = 3;
  static HWY_INLINE Floats apply(Floats x, Floats a, Floats b,
                                 const Numbers& c) {
    return hn::Add(x, hn::Div(hn::Mul(c.a, a), b));
  }
};

}  // namespace triples
}  // namespace

#define HVD_LOOP(Name) lane_loop<triples::Name>,
FunctionLoop find_triple_loop(TripleId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_TRIPLES(HVD_LOOP)};
  return kLoops[static_cast<std::size_t>(id)];
}
#undef HVD_LOOP

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(find_triple_loop);

FunctionLoop triple_loop(TripleId id) {
  return HWY_DYNAMIC_DISPATCH(find_triple_loop)(id);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
