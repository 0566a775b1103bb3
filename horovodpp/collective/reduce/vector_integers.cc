// SPDX-License-Identifier: Apache-2.0
// The loops of integers and bools without scaling, in vectors.
#include "horovodpp/collective/reduce/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/collective/reduce/vector_integers.cc"
#include <hwy/foreach_target.h>
// Highway requires this include first.
#include <hwy/highway.h>

#include "horovodpp/collective/reduce/vector_combine.h"
#include "horovodpp/collective/reduce/vector_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {
namespace {

// A bool in memory, which a peer may have set to any byte.
struct Truths : Pairs<Truths> {
  using Stored = std::uint8_t;
  using Lane = std::uint8_t;
  template <class D>
  using Storage = D;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<D> stored) {
    return hn::Min(stored, hn::Set(d, std::uint8_t{1}));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> encode(D, hn::Vec<D> lanes) {
    return lanes;
  }
};

struct Unscaled {
  explicit Unscaled(const Scales&) {}
  template <class D>
  HWY_INLINE hn::Vec<D> begin(D, hn::Vec<D> lanes) const {
    return lanes;
  }
  template <class D>
  HWY_INLINE hn::Vec<D> finish(D, hn::Vec<D> lanes) const {
    return lanes;
  }
};

template <class E, class Op>
constexpr ReduceLoops kLoops = {
    .element_bytes = sizeof(typename E::Stored),
    .accumulator_bytes = sizeof(typename E::Lane),
    .reduce = reduce<E, Op, Unscaled>,
    .load = load<E, Unscaled>,
    .combine = combine<E, Op, Unscaled>,
    .merge = combine<Numbers<typename E::Lane>, Op, Unscaled>,
    .store = store<E, Unscaled>,
};

// Results that may exceed T wrap: they are computed in the unsigned type of its
// size.
template <typename T>
const ReduceLoops* loops_for(ReduceOp op) {
  return visit_combine<ElementKind::kInteger>(
      op, []<ReduceOp kBy>(OpTag<kBy>) -> const ReduceLoops* {
        using Lane =
            std::conditional_t<Combine<kBy>::kFits, T, std::make_unsigned_t<T>>;
        if constexpr (VectorCombine<kBy>::template kHasForm<Lane>) {
          return &kLoops<Numbers<Lane>, VectorCombine<kBy>>;
        } else {
          return nullptr;
        }
      });
}

const ReduceLoops* loops_for_bool(ReduceOp op) {
  return visit_combine<ElementKind::kBool>(
      op, []<ReduceOp kBy>(OpTag<kBy>) -> const ReduceLoops* {
        return &kLoops<Truths, VectorCombine<kBy>>;
      });
}

}  // namespace

const ReduceLoops* find_integer_loops(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::kU8:
      return loops_for<std::uint8_t>(op);
    case DType::kI8:
      return loops_for<std::int8_t>(op);
    case DType::kI16:
      return loops_for<std::int16_t>(op);
    case DType::kI32:
      return loops_for<std::int32_t>(op);
    case DType::kI64:
      return loops_for<std::int64_t>(op);
    default:
      return loops_for_bool(op);
  }
}

}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::collective {

HWY_EXPORT(find_integer_loops);

const ReduceLoops* vector_integer_loops(DType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_integer_loops)(dtype, op);
}

}  // namespace hvd::collective
#endif  // HWY_ONCE
