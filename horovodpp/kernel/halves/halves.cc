// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "horovodpp/kernel/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/halves/halves.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/vector_halves.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;

// Converts between 16-bit values and float, in vectors and then one by one.
template <class Type, typename T>
HWY_INLINE void widen_all(const T* x, float* out, std::size_t n) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
  const D d;
  const typename Type::template Storage<D> stored;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(Type::decode(d, hn::LoadU(stored, bits + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<float>(x[i]);
}

template <class Type, typename T>
HWY_INLINE void narrow_all(const float* x, T* out, std::size_t n) {
  auto* bits = reinterpret_cast<std::uint16_t*>(out);
  const D d;
  const typename Type::template Storage<D> stored;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(Type::encode(d, hn::LoadU(d, x + i)), stored, bits + i);
  }
  for (; i < n; ++i) out[i] = T(x[i]);
}

}  // namespace

void widen_f16(const f16* x, float* out, std::size_t n) {
  widen_all<Halves>(x, out, n);
}
void widen_bf16(const bf16* x, float* out, std::size_t n) {
  widen_all<BrainHalves>(x, out, n);
}
void narrow_f16(const float* x, f16* out, std::size_t n) {
  narrow_all<Halves>(x, out, n);
}
void narrow_bf16(const float* x, bf16* out, std::size_t n) {
  narrow_all<BrainHalves>(x, out, n);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);

HVD_EXPORT void widen(const f16* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(x, out, n);
}
HVD_EXPORT void widen(const bf16* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(widen_bf16)(x, out, n);
}
HVD_EXPORT void narrow(const float* x, f16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(x, out, n);
}
HVD_EXPORT void narrow(const float* x, bf16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(x, out, n);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
