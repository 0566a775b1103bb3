// SPDX-License-Identifier: Apache-2.0
// The vector loops under a ReduceKernel, in Highway's terms: the layout of
// elements in memory and in registers, and the steps. A step runs over vectors,
// then over single lanes for the rest.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once. No step keeps state between vectors or adds across
// lanes, so the bits do not depend on the vectors' width. Multiplications and
// additions must not be contracted (see horovodpp/CMakeLists.txt).
#if defined(HVD_COLLECTIVE_VECTOR_LOOPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_COLLECTIVE_VECTOR_LOOPS_H
#undef HVD_COLLECTIVE_VECTOR_LOOPS_H
#else
#define HVD_COLLECTIVE_VECTOR_LOOPS_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/collective/reduce/loops.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Scales = ReduceScales;

// Elements whose two vectors of lanes are also two vectors in memory.
template <class E>
struct Pairs {
  template <class D, typename Stored>
  static HWY_INLINE void load_pair(D d, const Stored* from, hn::Vec<D>& a,
                                   hn::Vec<D>& b) {
    const typename E::template Storage<D> storage;
    a = E::decode(d, hn::LoadU(storage, from));
    b = E::decode(d, hn::LoadU(storage, from + hn::Lanes(d)));
  }
  template <class D, typename Stored>
  static HWY_INLINE void store_pair(D d, hn::Vec<D> a, hn::Vec<D> b,
                                    Stored* to) {
    const typename E::template Storage<D> storage;
    hn::StoreU(E::encode(d, a), storage, to);
    hn::StoreU(E::encode(d, b), storage, to + hn::Lanes(d));
  }
};

// Elements that have the same form in memory and in registers.
template <typename T>
struct Numbers : Pairs<Numbers<T>> {
  using Stored = T;
  using Lane = T;
  template <class D>
  using Storage = D;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D, hn::Vec<D> stored) {
    return stored;
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> encode(D, hn::Vec<D> lanes) {
    return lanes;
  }
};

// One vector of elements from and to `elements` + `at`.
template <class E, class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const void* elements, std::size_t at) {
  const typename E::template Storage<D> storage;
  const auto* from = static_cast<const typename E::Stored*>(elements) + at;
  return E::decode(d, hn::LoadU(storage, from));
}

template <class E, class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> lanes, void* elements,
                            std::size_t at) {
  const typename E::template Storage<D> storage;
  auto* to = static_cast<typename E::Stored*>(elements) + at;
  hn::StoreU(E::encode(d, lanes), storage, to);
}

// Calls `step(d, at)` for the elements from `at` to `end`, each time for the
// lanes of a vector `d`: first the widest, then 16 bytes, then one lane.
template <typename Lane, class Step>
HWY_INLINE void for_lanes(std::size_t at, std::size_t end, const Step& step) {
  const hn::ScalableTag<Lane> wide;
  const hn::CappedTag<Lane, 16 / sizeof(Lane)> narrow;
  const hn::CappedTag<Lane, 1> single;
  for (; end - at >= hn::Lanes(wide); at += hn::Lanes(wide)) step(wide, at);
  for (; end - at >= hn::Lanes(narrow); at += hn::Lanes(narrow)) {
    step(narrow, at);
  }
  for (; at < end; ++at) step(single, at);
}

// Reads some lanes of all inputs, combines them in registers, and writes them
// to all outputs. E: the elements, Op: the operation, Scaling: the scaling of
// each input and of the result.
template <class E, class Op, class Scaling>
struct ReduceStep {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  Scaling scaling;

  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::size_t input, std::size_t at) const {
    return scaling.begin(d, load_lanes<E>(d, inputs[input], at));
  }

  template <class D>
  HWY_INLINE void operator()(D d, std::size_t at) const {
    auto lanes = load(d, 0, at);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      lanes = Op::apply(lanes, load(d, i, at));
    }
    lanes = scaling.finish(d, lanes);
    for (void* output : outputs) store_lanes<E>(d, lanes, output, at);
  }

  // Four vectors share the cost of looking up an input's address.
  template <class D>
  HWY_INLINE void four(D d, std::size_t at) const {
    using Stored = typename E::Stored;
    const std::size_t second = at + 2 * hn::Lanes(d);
    const auto* first_input = static_cast<const Stored*>(inputs[0]);
    auto a = hn::Zero(d), b = a, c = a, e = a;
    E::load_pair(d, first_input + at, a, b);
    E::load_pair(d, first_input + second, c, e);
    a = scaling.begin(d, a);
    b = scaling.begin(d, b);
    c = scaling.begin(d, c);
    e = scaling.begin(d, e);
    for (const void* more : inputs.subspan(1)) {
      const auto* input = static_cast<const Stored*>(more);
      auto f = hn::Zero(d), g = f, h = f, i = f;
      E::load_pair(d, input + at, f, g);
      E::load_pair(d, input + second, h, i);
      a = Op::apply(a, scaling.begin(d, f));
      b = Op::apply(b, scaling.begin(d, g));
      c = Op::apply(c, scaling.begin(d, h));
      e = Op::apply(e, scaling.begin(d, i));
    }
    a = scaling.finish(d, a);
    b = scaling.finish(d, b);
    c = scaling.finish(d, c);
    e = scaling.finish(d, e);
    for (void* output : outputs) {
      auto* to = static_cast<Stored*>(output);
      E::store_pair(d, a, b, to + at);
      E::store_pair(d, c, e, to + second);
    }
  }
};

// accumulators = scaled input
template <class E, class Scaling>
struct LoadStep {
  const void* input;
  void* accumulators;
  Scaling scaling;
  template <class D>
  HWY_INLINE void operator()(D d, std::size_t at) const {
    const auto lanes = scaling.begin(d, load_lanes<E>(d, input, at));
    store_lanes<Numbers<typename E::Lane>>(d, lanes, accumulators, at);
  }
};

// accumulators = accumulators op scaled input
template <class E, class Op, class Scaling>
struct CombineStep {
  void* accumulators;
  const void* input;
  Scaling scaling;
  template <class D>
  HWY_INLINE void operator()(D d, std::size_t at) const {
    using Accumulators = Numbers<typename E::Lane>;
    const auto lanes = Op::apply(load_lanes<Accumulators>(d, accumulators, at),
                                 scaling.begin(d, load_lanes<E>(d, input, at)));
    store_lanes<Accumulators>(d, lanes, accumulators, at);
  }
};

// output = finished accumulators
template <class E, class Scaling>
struct StoreStep {
  const void* accumulators;
  void* output;
  Scaling scaling;
  template <class D>
  HWY_INLINE void operator()(D d, std::size_t at) const {
    const auto lanes =
        load_lanes<Numbers<typename E::Lane>>(d, accumulators, at);
    store_lanes<E>(d, scaling.finish(d, lanes), output, at);
  }
};

template <class E, class Op, class Scaling>
void reduce(std::span<const void* const> inputs, std::span<void* const> outputs,
            std::int64_t count, const Scales& scales) {
  using Lane = typename E::Lane;
  const hn::ScalableTag<Lane> d;
  const std::size_t group = 4 * hn::Lanes(d);
  const auto end = static_cast<std::size_t>(count);
  ReduceStep<E, Op, Scaling> step = {inputs, outputs, Scaling(scales)};
  std::size_t at = 0;
  for (; end - at >= group; at += group) step.four(d, at);
  for_lanes<Lane>(at, end, step);
}

template <class E, class Scaling>
void load(const void* input, void* accumulators, std::int64_t count,
          const Scales& scales) {
  for_lanes<typename E::Lane>(
      0, static_cast<std::size_t>(count),
      LoadStep<E, Scaling>{input, accumulators, Scaling(scales)});
}

template <class E, class Op, class Scaling>
void combine(void* accumulators, const void* input, std::int64_t count,
             const Scales& scales) {
  for_lanes<typename E::Lane>(
      0, static_cast<std::size_t>(count),
      CombineStep<E, Op, Scaling>{accumulators, input, Scaling(scales)});
}

template <class E, class Scaling>
void store(void* accumulators, void* output, std::int64_t count,
           const Scales& scales) {
  for_lanes<typename E::Lane>(
      0, static_cast<std::size_t>(count),
      StoreStep<E, Scaling>{accumulators, output, Scaling(scales)});
}

}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_COLLECTIVE_VECTOR_LOOPS_H
