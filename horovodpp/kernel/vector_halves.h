// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 in vectors: 16 bits in memory, float in registers, converted bit
// for bit as in core/half.h. All loops over these types use it (halves.h, and
// collective/reduce).
//
// Included once per instruction set, as Highway requires.
#if defined(HVD_KERNEL_VECTOR_HALVES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_VECTOR_HALVES_H
#undef HVD_KERNEL_VECTOR_HALVES_H
#else
#define HVD_KERNEL_VECTOR_HALVES_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether Highway converts f16 with hardware instructions, which round and
// treat subnormals, infinities and NaN as core/half.h does. Its software
// conversion does not.
inline constexpr bool kConvertsHalves = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

// The 32 bits of each lane.
template <class D>
using Bits = hn::RebindToUnsigned<D>;

template <class D>
HWY_INLINE hn::Vec<Bits<D>> masked(D, hn::Vec<Bits<D>> bits,
                                   std::uint32_t mask) {
  return hn::And(bits, hn::Set(Bits<D>(), mask));
}

// Each lane as 16 bits, which it fits.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrowed(
    D, hn::Vec<Bits<D>> bits) {
  return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(),
                      hn::BitCast(hn::RebindToSigned<D>(), bits));
}

struct BrainHalves {
  using Stored = std::uint16_t;
  using Lane = float;
  template <class D>
  using Storage = hn::Rebind<std::uint16_t, D>;

  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<Storage<D>> stored) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(Bits<D>(), stored)));
  }

  template <class D>
  static HWY_INLINE hn::Vec<Storage<D>> encode(D d, hn::Vec<D> lanes) {
    const auto bits = hn::BitCast(Bits<D>(), quieted(d, lanes));
    return narrowed(d, hn::ShiftRight<16>(rounded(d, bits)));
  }

  // Rounds to the upper 16 bits: to nearest, ties to even.
  template <class D>
  static HWY_INLINE hn::Vec<Bits<D>> rounded(D d, hn::Vec<Bits<D>> bits) {
    const auto odd = masked(d, hn::ShiftRight<16>(bits), 1);
    return hn::Add(hn::Add(bits, hn::Set(Bits<D>(), 0x7fffu)), odd);
  }

  // Makes NaN quiet, with low bits that rounding does not carry upward.
  template <class D>
  static HWY_INLINE hn::Vec<D> quieted(D d, hn::Vec<D> lanes) {
    const Bits<D> u;
    const auto bits = hn::BitCast(u, lanes);
    const auto quiet =
        hn::Or(masked(d, bits, 0xffff0000u), hn::Set(u, 0x00400000u));
    return hn::IfThenElse(hn::Eq(lanes, lanes), lanes, hn::BitCast(d, quiet));
  }
};

struct Halves {
  using Stored = std::uint16_t;
  using Lane = float;
  template <class D>
  using Storage = hn::Rebind<std::uint16_t, D>;

  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<Storage<D>> stored) {
    if constexpr (kConvertsHalves) {
      const hn::Rebind<hwy::float16_t, D> halves;
      return hn::PromoteTo(d, hn::BitCast(halves, stored));
    } else {
      return decode_stepwise(d, stored);
    }
  }

  template <class D>
  static HWY_INLINE hn::Vec<Storage<D>> encode(D d, hn::Vec<D> lanes) {
    if constexpr (kConvertsHalves) {
      const hn::Rebind<hwy::float16_t, D> halves;
      return hn::BitCast(Storage<D>(), hn::DemoteTo(halves, lanes));
    } else {
      return encode_stepwise(d, lanes);
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> decode_stepwise(D d,
                                               hn::Vec<Storage<D>> stored) {
    const Bits<D> u;
    const hn::RebindToSigned<D> i;
    const auto bits = hn::PromoteTo(u, stored);
    const auto exponent = masked(d, bits, 0x7c00);
    const auto mantissa = masked(d, bits, 0x03ff);
    const auto normal = hn::Add(hn::ShiftLeft<13>(masked(d, bits, 0x7fff)),
                                hn::Set(u, 112u << 23));
    const auto special =
        hn::Or(hn::ShiftLeft<13>(mantissa), hn::Set(u, 0x7f800000u));
    const auto subnormal =
        hn::BitCast(u, hn::Mul(hn::ConvertTo(d, hn::BitCast(i, mantissa)),
                               hn::Set(d, 0x1p-24f)));
    const auto finite =
        hn::IfThenElse(hn::Eq(exponent, hn::Zero(u)), subnormal, normal);
    const auto magnitude =
        hn::IfThenElse(hn::Eq(exponent, hn::Set(u, 0x7c00u)), special, finite);
    const auto sign = hn::ShiftLeft<16>(masked(d, bits, 0x8000));
    return hn::BitCast(d, hn::Or(sign, magnitude));
  }

  template <class D>
  static HWY_INLINE hn::Vec<Storage<D>> encode_stepwise(D d, hn::Vec<D> lanes) {
    const Bits<D> u;
    const auto bits = hn::BitCast(u, lanes);
    const auto magnitude = masked(d, bits, 0x7fffffff);
    const auto shifted = hn::ShiftRight<13>(magnitude);
    // Below the least normal number, float addition does the rounding.
    const auto subnormal = hn::Sub(
        hn::BitCast(u, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f))),
        hn::Set(u, 0x3f000000u));
    const auto rounding =
        hn::Add(masked(d, shifted, 1), hn::Set(u, 0xfffu - 0x38000000u));
    const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, rounding));
    const auto nan = hn::Or(masked(d, shifted, 0x03ff), hn::Set(u, 0x7e00u));

    const auto above = [&](std::uint32_t bound) HWY_ATTR {
      return hn::Gt(magnitude, hn::Set(u, bound));
    };
    auto half = hn::IfThenElse(above(0x387fffffu), normal, subnormal);
    half = hn::IfThenElse(above(0x477fefffu), hn::Set(u, 0x7c00u), half);
    half = hn::IfThenElse(above(0x7f800000u), nan, half);
    const auto sign = masked(d, hn::ShiftRight<16>(bits), 0x8000);
    return narrowed(d, hn::Or(sign, half));
  }
};

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_VECTOR_HALVES_H
