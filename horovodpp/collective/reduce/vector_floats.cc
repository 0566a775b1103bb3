// SPDX-License-Identifier: Apache-2.0
// Floating-point types, in vectors. f16 and bf16 are float in registers.
#include <limits>

#include "horovodpp/collective/reduce/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/collective/reduce/vector_floats.cc"
#include <hwy/foreach_target.h>
// Highway's order: this one first.
#include <hwy/highway.h>

#include "horovodpp/collective/reduce/vector_halves.h"
#include "horovodpp/collective/reduce/vector_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {
namespace {

// b wins over any number that is not less, so also if it is NaN. (Of Ne, Highway
// does not say what it makes of NaN.)
struct Min {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::IfThenElse(hn::AndNot(hn::Lt(a, b), hn::Eq(a, a)), b, a);
  }
};
struct Max {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::IfThenElse(hn::AndNot(hn::Gt(a, b), hn::Eq(a, a)), b, a);
  }
};

// The scales of a call, each applied only if it changes anything.
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

// Element `at` and those beside it, as doubles.
template <class E, class D>
HWY_INLINE hn::Vec<D> load_doubles(D d, const void* elements, std::size_t at) {
  if constexpr (sizeof(typename E::Lane) == sizeof(double)) {
    return load_lanes<E>(d, elements, at);
  } else {
    const hn::Rebind<float, D> half;
    return hn::PromoteTo(d, load_lanes<E>(half, elements, at));
  }
}

template <class E>
bool all_finite(const void* elements, std::size_t count) {
  const hn::CappedTag<typename E::Lane, 1> d;
  constexpr auto kMost = std::numeric_limits<typename E::Lane>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = hn::GetLane(hn::Abs(load_lanes<E>(d, elements, i)));
    if (!(value <= kMost)) return false;
  }
  return true;
}

// Four chains of additions hide each other's latency. What four vectors hold
// is a part of kNormLanes, so the block is read once for each such part.
template <class E>
bool examine(const void* elements, std::int64_t count, double* norm) {
  const hn::CappedTag<double, ReduceLoops::kNormLanes / 4> d;
  const std::size_t n = hn::Lanes(d);
  const auto end = static_cast<std::size_t>(count);
  constexpr std::size_t kStride = ReduceLoops::kNormLanes;
  bool finite = true;
  for (std::size_t lane = 0; lane < kStride; lane += 4 * n) {
    double* sums = norm + lane;
    auto s0 = hn::LoadU(d, sums);
    auto s1 = hn::LoadU(d, sums + n);
    auto s2 = hn::LoadU(d, sums + 2 * n);
    auto s3 = hn::LoadU(d, sums + 3 * n);
    for (std::size_t at = lane; at < end; at += kStride) {
      const auto x0 = load_doubles<E>(d, elements, at);
      const auto x1 = load_doubles<E>(d, elements, at + n);
      const auto x2 = load_doubles<E>(d, elements, at + 2 * n);
      const auto x3 = load_doubles<E>(d, elements, at + 3 * n);
      s0 = hn::Add(s0, hn::Mul(x0, x0));
      s1 = hn::Add(s1, hn::Mul(x1, x1));
      s2 = hn::Add(s2, hn::Mul(x2, x2));
      s3 = hn::Add(s3, hn::Mul(x3, x3));
    }
    hn::StoreU(s0, d, sums);
    hn::StoreU(s1, d, sums + n);
    hn::StoreU(s2, d, sums + 2 * n);
    hn::StoreU(s3, d, sums + 3 * n);
    const auto all = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    finite &= hn::AllTrue(d, hn::Eq(hn::Sub(all, all), hn::Zero(d)));
  }
  // Squares of doubles, or an earlier block, may have overflowed by themselves.
  return finite || all_finite<E>(elements, end);
}

template <class E, class Op>
constexpr ReduceLoops kLoops = {
    .element_bytes = sizeof(typename E::Stored),
    .accumulator_bytes = sizeof(typename E::Lane),
    .reduce = reduce<E, Op, Scaling<typename E::Lane>>,
    .load = load<E, Scaling<typename E::Lane>>,
    .combine = combine<E, Op, Scaling<typename E::Lane>>,
    .merge = combine<Numbers<typename E::Lane>, Op, Scaling<typename E::Lane>>,
    .store = store<E, Scaling<typename E::Lane>>,
    .examine = examine<E>,
};

template <class E>
const ReduceLoops* loops_for(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin:
      return &kLoops<E, Min>;
    case ReduceOp::kMax:
      return &kLoops<E, Max>;
    case ReduceOp::kProduct:
      return &kLoops<E, Product>;
    default:
      return &kLoops<E, Sum>;
  }
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
