#include <cstdint>

#include "horovodpp/kernel/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/halves.cc"
#include <hwy/foreach_target.h>
// Highway's order: this one first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<D>;
using Stored = hn::Rebind<std::uint16_t, D>;

// Whether Highway converts f16 with the instructions for it, which round and
// treat subnormals, infinities and NaN as core/half.h does.
constexpr bool kConvertsHalves = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

// Makes `vectors` of all whole ones, `single` of each element left.
template <class Vectors, class Single>
HWY_INLINE void for_all(bool in_vectors, std::size_t n, const Vectors& vectors,
                        const Single& single) {
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  if (in_vectors) {
    for (; i + lanes <= n; i += lanes) vectors(i);
  }
  for (; i < n; ++i) single(i);
}

}  // namespace

void widen_f16(const f16* x, float* out, std::size_t n) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
  for_all(
      kConvertsHalves, n,
      [&](std::size_t i) HWY_ATTR {
        if constexpr (kConvertsHalves) {
          const hn::Rebind<hwy::float16_t, D> halves;
          const auto stored = hn::LoadU(Stored(), bits + i);
          hn::StoreU(hn::PromoteTo(D(), hn::BitCast(halves, stored)), D(),
                     out + i);
        } else {
          (void)i;
        }
      },
      [&](std::size_t i) { out[i] = static_cast<float>(x[i]); });
}

void narrow_f16(const float* x, f16* out, std::size_t n) {
  auto* bits = reinterpret_cast<std::uint16_t*>(out);
  for_all(
      kConvertsHalves, n,
      [&](std::size_t i) HWY_ATTR {
        if constexpr (kConvertsHalves) {
          const hn::Rebind<hwy::float16_t, D> halves;
          const auto half = hn::DemoteTo(halves, hn::LoadU(D(), x + i));
          hn::StoreU(hn::BitCast(Stored(), half), Stored(), bits + i);
        } else {
          (void)i;
        }
      },
      [&](std::size_t i) { out[i] = f16(x[i]); });
}

void widen_bf16(const bf16* x, float* out, std::size_t n) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
  for_all(
      true, n,
      [&](std::size_t i) HWY_ATTR {
        const auto wide = hn::PromoteTo(U(), hn::LoadU(Stored(), bits + i));
        hn::StoreU(hn::BitCast(D(), hn::ShiftLeft<16>(wide)), D(), out + i);
      },
      [&](std::size_t i) { out[i] = static_cast<float>(x[i]); });
}

// To nearest, ties to even; NaN stays NaN.
void narrow_bf16(const float* x, bf16* out, std::size_t n) {
  auto* stored = reinterpret_cast<std::uint16_t*>(out);
  for_all(
      true, n,
      [&](std::size_t i) HWY_ATTR {
        const U u;
        const auto value = hn::LoadU(D(), x + i);
        const auto bits = hn::BitCast(u, value);
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
        const auto rounded = hn::ShiftRight<16>(
            hn::Add(hn::Add(bits, hn::Set(u, 0x7fffu)), odd));
        const auto quiet =
            hn::Or(hn::ShiftRight<16>(bits), hn::Set(u, 0x0040u));
        const auto is_number = hn::RebindMask(u, hn::Eq(value, value));
        const auto half = hn::IfThenElse(is_number, rounded, quiet);
        hn::StoreU(
            hn::DemoteTo(Stored(), hn::BitCast(hn::RebindToSigned<D>(), half)),
            Stored(), stored + i);
      },
      [&](std::size_t i) { out[i] = bf16(x[i]); });
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);

void widen(const f16* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(x, out, n);
}
void widen(const bf16* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(widen_bf16)(x, out, n);
}
void narrow(const float* x, f16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(x, out, n);
}
void narrow(const float* x, bf16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(x, out, n);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
