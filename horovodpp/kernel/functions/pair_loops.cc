// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/functions/pair_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/functions/pair_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/functions/lane_loop.h"
#include "horovodpp/kernel/functions/pair_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

template <class F>
struct PairValueOf {
  static constexpr std::size_t kInputs = 2;
  static HWY_INLINE Floats apply(Floats a, Floats b, Floats, const Numbers&) {
    return F::value(a, b);
  }
};
template <class F>
struct PairFirstOf {
  static constexpr std::size_t kInputs = 3;
  static HWY_INLINE Floats apply(Floats dz, Floats a, Floats b,
                                 const Numbers&) {
    return F::first(dz, a, b);
  }
};
template <class F>
struct PairSecondOf {
  static constexpr std::size_t kInputs = 3;
  static HWY_INLINE Floats apply(Floats dz, Floats a, Floats b,
                                 const Numbers&) {
    return F::second(dz, a, b);
  }
};

}  // namespace

#define HVD_VALUE(Name) lane_loop<PairValueOf<pairs::Name>>,
#define HVD_FIRST(Name) lane_loop<PairFirstOf<pairs::Name>>,
#define HVD_SECOND(Name) lane_loop<PairSecondOf<pairs::Name>>,
FunctionLoop find_pair_value_loop(PairId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_PAIRS(HVD_VALUE)};
  return kLoops[static_cast<std::size_t>(id)];
}
FunctionLoop find_pair_first_loop(PairId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_PAIRS(HVD_FIRST)};
  return kLoops[static_cast<std::size_t>(id)];
}
FunctionLoop find_pair_second_loop(PairId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_PAIRS(HVD_SECOND)};
  return kLoops[static_cast<std::size_t>(id)];
}
#undef HVD_VALUE
#undef HVD_FIRST
#undef HVD_SECOND

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(find_pair_value_loop);
HWY_EXPORT(find_pair_first_loop);
HWY_EXPORT(find_pair_second_loop);

FunctionLoop pair_value_loop(PairId id) {
  return HWY_DYNAMIC_DISPATCH(find_pair_value_loop)(id);
}
FunctionLoop pair_first_loop(PairId id) {
  return HWY_DYNAMIC_DISPATCH(find_pair_first_loop)(id);
}
FunctionLoop pair_second_loop(PairId id) {
  return HWY_DYNAMIC_DISPATCH(find_pair_second_loop)(id);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
