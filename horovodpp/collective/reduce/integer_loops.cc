// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/integer_loops.h"

#include <cstring>

#include "horovodpp/collective/reduce/loops.h"

namespace hvd::collective {
namespace {

using namespace integers;

// One pass over the inputs: a block's accumulators stay in the nearest cache.
// An output that is an input is written after that block has been read.
template <typename T, typename A, typename Op>
void reduce(std::span<const void* const> inputs, std::span<void* const> outputs,
            std::int64_t count, const Scales& scales) {
  for_blocks(count, [&](std::int64_t at, auto length) {
    alignas(64) A acc[kBlock];
    load_block(static_cast<const T*>(inputs[0]) + at, acc, length, scales);
    for (const void* input : inputs.subspan(1)) {
      combine_block<Op>(acc, static_cast<const T*>(input) + at, length, scales);
    }
    const T* result = static_cast<const T*>(outputs[0]) + at;
    store_block(acc, static_cast<T*>(outputs[0]) + at, length, scales);
    for (void* output : outputs.subspan(1)) {
      std::memcpy(static_cast<T*>(output) + at, result,
                  static_cast<std::size_t>(length) * sizeof(T));
    }
  });
}

template <typename T, typename A>
void load(const void* input, void* accumulators, std::int64_t count,
          const Scales& scales) {
  for_blocks(count, [&](std::int64_t at, auto length) {
    load_block(static_cast<const T*>(input) + at,
               static_cast<A*>(accumulators) + at, length, scales);
  });
}

template <typename T, typename A, typename Op>
void combine(void* accumulators, const void* input, std::int64_t count,
             const Scales& scales) {
  for_blocks(count, [&](std::int64_t at, auto length) {
    combine_block<Op>(static_cast<A*>(accumulators) + at,
                      static_cast<const T*>(input) + at, length, scales);
  });
}

template <typename T, typename A>
void store(void* accumulators, void* output, std::int64_t count,
           const Scales& scales) {
  for_blocks(count, [&](std::int64_t at, auto length) {
    store_block(static_cast<A*>(accumulators) + at,
                static_cast<T*>(output) + at, length, scales);
  });
}

template <typename T, typename A, typename Op>
constexpr ReduceLoops kLoops = {
    .element_bytes = sizeof(T),
    .accumulator_bytes = sizeof(A),
    .reduce = reduce<T, A, Op>,
    .load = load<T, A>,
    .combine = combine<T, A, Op>,
    .merge = combine<A, A, Op>,
    .store = store<T, A>,
};

template <typename T>
const ReduceLoops& loops_for(ReduceOp op, bool exact) {
  using Plain = typename Accumulator<T>::Plain;
  using Exact = typename Accumulator<T>::Exact;
  const auto loops_by = [&]<ReduceOp kBy>(OpTag<kBy>) -> const ReduceLoops* {
    using Op = Combine<kBy>;
    if constexpr (!Op::kFits) {
      if (exact) return &kLoops<T, Exact, Op>;
    }
    return &kLoops<T, Plain, Op>;
  };
  return *visit_combine<ElementKind::kInteger>(op, loops_by);
}

}  // namespace

const ReduceLoops& integer_loops(DType dtype, ReduceOp op, bool exact) {
  switch (dtype) {
    case DType::kU8:
      return loops_for<std::uint8_t>(op, exact);
    case DType::kI8:
      return loops_for<std::int8_t>(op, exact);
    case DType::kI16:
      return loops_for<std::int16_t>(op, exact);
    case DType::kI32:
      return loops_for<std::int32_t>(op, exact);
    default:
      return loops_for<std::int64_t>(op, exact);
  }
}

}  // namespace hvd::collective
