// SPDX-License-Identifier: Apache-2.0
// The loops of floating-point types, in vectors. f16 and bf16 are float in
// registers.

#include "horovodpp/collective/reduce/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/collective/reduce/vector_floats.cc"
#include <hwy/foreach_target.h>
// Highway requires this include first.
#include <hwy/highway.h>

#include "horovodpp/collective/reduce/vector_combine.h"
#include "horovodpp/collective/reduce/vector_halves.h"
#include "horovodpp/collective/reduce/vector_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {
namespace {

// The scales of a call; each is applied only if it has an effect.
template <typename Lane>
class Scaling {
 public:
  explicit Scaling(const Scales& scales)
      : prescaled_(scales.prescale != 1.0),
        divided_((scales.divisor & (scales.divisor - 1)) != 0),
        multiplied_(scales.divisor != 1 && !divided_),
        postscaled_(scales.postscale != 1.0),
        prescale_(static_cast<Lane>(scales.prescale)),
        divisor_(static_cast<Lane>(scales.divisor)),
        // Exact for a power of two, and several times faster than a division.
        factor_(Lane{1} / divisor_),
        postscale_(static_cast<Lane>(scales.postscale)) {}

  template <class D>
  HWY_INLINE hn::Vec<D> begin(D d, hn::Vec<D> lanes) const {
    return prescaled_ ? hn::Mul(lanes, hn::Set(d, prescale_)) : lanes;
  }

  template <class D>
  HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> lanes) const {
    if (multiplied_) lanes = hn::Mul(lanes, hn::Set(d, factor_));
    if (divided_) lanes = hn::Div(lanes, hn::Set(d, divisor_));
    if (postscaled_) lanes = hn::Mul(lanes, hn::Set(d, postscale_));
    return lanes;
  }

 private:
  bool prescaled_;
  bool divided_;
  bool multiplied_;
  bool postscaled_;
  Lane prescale_;
  Lane divisor_;
  Lane factor_;
  Lane postscale_;
};

template <class E, class Op>
constexpr ReduceLoops kLoops = {
    .element_bytes = sizeof(typename E::Stored),
    .accumulator_bytes = sizeof(typename E::Lane),
    .reduce = reduce<E, Op, Scaling<typename E::Lane>>,
    .load = load<E, Scaling<typename E::Lane>>,
    .combine = combine<E, Op, Scaling<typename E::Lane>>,
    .merge = combine<Numbers<typename E::Lane>, Op, Scaling<typename E::Lane>>,
    .store = store<E, Scaling<typename E::Lane>>,
};

template <class E>
const ReduceLoops* loops_for(ReduceOp op) {
  return visit_combine<ElementKind::kFloat>(
      op, []<ReduceOp kBy>(OpTag<kBy>) -> const ReduceLoops* {
        return &kLoops<E, VectorCombine<kBy>>;
      });
}

}  // namespace

const ReduceLoops* find_float_loops(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::kF16:
      return loops_for<Halves>(op);
    case DType::kBF16:
      return loops_for<BrainHalves>(op);
    case DType::kF32:
      return loops_for<Numbers<float>>(op);
    default:
      return loops_for<Numbers<double>>(op);
  }
}

}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::collective {

HWY_EXPORT(find_float_loops);

const ReduceLoops& vector_float_loops(DType dtype, ReduceOp op) {
  return *HWY_DYNAMIC_DISPATCH(find_float_loops)(dtype, op);
}

}  // namespace hvd::collective
#endif  // HWY_ONCE
