// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/functions/function_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/functions/function_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/functions/activation_lanes.h"
#include "horovodpp/kernel/functions/lane_loop.h"
#include "horovodpp/kernel/functions/math_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

template <class F>
struct ValueOf {
  static constexpr std::size_t kInputs = 1;
  static HWY_INLINE Floats apply(Floats x, Floats, Floats, const Numbers& c) {
    return F::value(x, c);
  }
};
template <class F>
struct SlopeOf {
  static constexpr std::size_t kInputs = 2;
  static HWY_INLINE Floats apply(Floats dy, Floats x, Floats,
                                 const Numbers& c) {
    return F::slope(dy, x, c);
  }
};

}  // namespace

#define HVD_VALUE(Name) lane_loop<ValueOf<lanes::Name>>,
#define HVD_SLOPE(Name) lane_loop<SlopeOf<lanes::Name>>,
FunctionLoop find_value_loop(FunctionId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_FUNCTIONS(HVD_VALUE)};
  return kLoops[static_cast<std::size_t>(id)];
}
FunctionLoop find_slope_loop(FunctionId id) {
  static constexpr FunctionLoop kLoops[] = {HVD_VECTOR_FUNCTIONS(HVD_SLOPE)};
  return kLoops[static_cast<std::size_t>(id)];
}
#undef HVD_VALUE
#undef HVD_SLOPE

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(find_value_loop);
HWY_EXPORT(find_slope_loop);

FunctionLoop value_loop(FunctionId id) {
  return HWY_DYNAMIC_DISPATCH(find_value_loop)(id);
}
FunctionLoop slope_loop(FunctionId id) {
  return HWY_DYNAMIC_DISPATCH(find_slope_loop)(id);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
