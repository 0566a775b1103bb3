// SPDX-License-Identifier: Apache-2.0
// How operations combine vectors: as their Combine (core/reduce_arithmetic.h)
// combines each of the lanes. Operations without an instruction of their own
// go lane by lane.
//
// Included once per instruction set, as vector_loops.h is.
#if defined(HVD_COLLECTIVE_VECTOR_COMBINE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_COLLECTIVE_VECTOR_COMBINE_H
#undef HVD_COLLECTIVE_VECTOR_COMBINE_H
#else
#define HVD_COLLECTIVE_VECTOR_COMBINE_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

#include "horovodpp/core/reduce_arithmetic.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kHasForm<T>: whether lanes of T have instructions of this operation.
template <ReduceOp kOp>
struct VectorCombine {
  template <typename T>
  static constexpr bool kHasForm = false;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    const hn::DFromV<V> d;
    using Lane = hn::TFromV<V>;
    HWY_ALIGN Lane lanes[hn::MaxLanes(hn::DFromV<V>())];
    HWY_ALIGN Lane others[hn::MaxLanes(hn::DFromV<V>())];
    hn::Store(a, d, lanes);
    hn::Store(b, d, others);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      lanes[i] = Combine<kOp>::apply(lanes[i], others[i]);
    }
    return hn::Load(d, lanes);
  }
};

template <>
struct VectorCombine<ReduceOp::kSum> {
  template <typename T>
  static constexpr bool kHasForm = true;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Add(a, b);
  }
};

template <>
struct VectorCombine<ReduceOp::kProduct> {
  template <typename T>
  static constexpr bool kHasForm = std::is_floating_point_v<T> ||
                                   sizeof(T) == 2 || sizeof(T) == 4;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Mul(a, b);
  }
};

// Highway does not specify Ne for NaN.
template <>
struct VectorCombine<ReduceOp::kMin> {
  template <typename T>
  static constexpr bool kHasForm = true;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      return hn::IfThenElse(hn::AndNot(hn::Lt(a, b), hn::Eq(a, a)), b, a);
    } else {
      return hn::Min(a, b);
    }
  }
};

template <>
struct VectorCombine<ReduceOp::kMax> {
  template <typename T>
  static constexpr bool kHasForm = true;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      return hn::IfThenElse(hn::AndNot(hn::Gt(a, b), hn::Eq(a, a)), b, a);
    } else {
      return hn::Max(a, b);
    }
  }
};

}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_COLLECTIVE_VECTOR_COMBINE_H
