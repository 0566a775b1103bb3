// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 (kernel/vector_halves.h) for vector_loops.h, which takes
// elements two vectors at a time.
//
// Included once per instruction set, as vector_loops.h is.
#if defined(HVD_COLLECTIVE_VECTOR_HALVES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_COLLECTIVE_VECTOR_HALVES_H
#undef HVD_COLLECTIVE_VECTOR_HALVES_H
#else
#define HVD_COLLECTIVE_VECTOR_HALVES_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "horovodpp/collective/reduce/vector_loops.h"
#include "horovodpp/kernel/vector_halves.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct BrainHalves : autograd::HWY_NAMESPACE::BrainHalves, Pairs<BrainHalves> {
  // One vector in memory becomes two vectors of lanes: the even and the odd
  // elements. Each lies in the upper half of 32 bits, as in a float. Impossible
  // with vectors of one lane.
  template <class D>
  static HWY_INLINE void load_pair(D d, const std::uint16_t* from,
                                   hn::Vec<D>& even, hn::Vec<D>& odd) {
    if constexpr (HWY_TARGET == HWY_SCALAR) {
      Pairs<BrainHalves>::load_pair(d, from, even, odd);
    } else {
      const Bits<D> u;
      const auto both = hn::BitCast(u, hn::LoadU(Whole<D>(), from));
      even = hn::BitCast(d, hn::ShiftLeft<16>(both));
      odd = hn::BitCast(d, upper(d, both));
    }
  }

  template <class D>
  static HWY_INLINE void store_pair(D d, hn::Vec<D> even, hn::Vec<D> odd,
                                    std::uint16_t* to) {
    if constexpr (HWY_TARGET == HWY_SCALAR) {
      Pairs<BrainHalves>::store_pair(d, even, odd, to);
    } else {
      const Whole<D> whole;
      hn::StoreU(hn::BitCast(whole, merged(d, even, odd)), whole, to);
    }
  }

 private:
  template <class D>
  using Bits = hn::RebindToUnsigned<D>;
  template <class D>
  using Whole = hn::Repartition<std::uint16_t, D>;

  // The upper 16 bits of each lane.
  template <class D>
  static HWY_INLINE hn::Vec<Bits<D>> upper(D, hn::Vec<Bits<D>> bits) {
    return hn::And(bits, hn::Set(Bits<D>(), 0xffff0000u));
  }

  template <class D>
  static HWY_INLINE hn::Vec<Bits<D>> merged(D d, hn::Vec<D> even,
                                            hn::Vec<D> odd) {
    const Bits<D> u;
    const auto number = hn::And(hn::Eq(even, even), hn::Eq(odd, odd));
    if (HWY_UNLIKELY(!hn::AllTrue(d, number))) {
      even = quieted(d, even);
      odd = quieted(d, odd);
    }
    const auto lower = hn::ShiftRight<16>(rounded(d, hn::BitCast(u, even)));
    return hn::Or(lower, upper(d, rounded(d, hn::BitCast(u, odd))));
  }
};

struct Halves : autograd::HWY_NAMESPACE::Halves, Pairs<Halves> {};

}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_COLLECTIVE_VECTOR_HALVES_H
