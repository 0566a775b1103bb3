#include "horovodpp/collective/reduce_kernels.h"

#include <type_traits>

#include "horovodpp/collective/reduce_loops.h"

namespace hvd::collective {

struct ReduceKernel::Loops {
  std::size_t element_bytes;
  std::size_t accumulator_bytes;
  void (*reduce)(std::span<const void* const> inputs, void* output,
                 std::int64_t count, const Scales& scales);
  void (*load)(const void* input, void* accumulators, std::int64_t count,
               const Scales& scales);
  void (*combine)(void* accumulators, const void* input, std::int64_t count,
                  const Scales& scales);
  void (*store)(void* accumulators, void* output, std::int64_t count,
                const Scales& scales);
};

namespace {

using namespace loops;

// One pass over the inputs: a block's accumulators stay in the nearest cache.
template <typename T, typename A, typename Op>
void reduce(std::span<const void* const> inputs, void* output,
            std::int64_t count, const Scales& scales) {
  for_blocks(count, [&](std::int64_t at, auto length) {
    alignas(64) A acc[kBlock];
    load_block(static_cast<const T*>(inputs[0]) + at, acc, length, scales);
    for (const void* input : inputs.subspan(1)) {
      combine_block<Op>(acc, static_cast<const T*>(input) + at, length, scales);
    }
    store_block(acc, static_cast<T*>(output) + at, length, scales);
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
constexpr ReduceKernel::Loops kLoops = {
    .element_bytes = sizeof(T),
    .accumulator_bytes = sizeof(A),
    .reduce = reduce<T, A, Op>,
    .load = load<T, A>,
    .combine = combine<T, A, Op>,
    .store = store<T, A>,
};

// Sums that are divided or scaled must be exact before they are; others come
// out the same if they wrap early.
template <typename T>
const ReduceKernel::Loops& loops_for(ReduceOp op, bool exact) {
  using Plain = typename Accumulator<T>::Plain;
  using Exact = typename Accumulator<T>::Exact;
  switch (op) {
    case ReduceOp::kMin:
      return kLoops<T, Plain, Min>;
    case ReduceOp::kMax:
      return kLoops<T, Plain, Max>;
    case ReduceOp::kProduct:
      return exact ? kLoops<T, Exact, Product> : kLoops<T, Plain, Product>;
    default:
      return exact ? kLoops<T, Exact, Sum> : kLoops<T, Plain, Sum>;
  }
}

// Of bytes that are 0 or 1, the least is "and", the greatest is "or".
template <>
const ReduceKernel::Loops& loops_for<Truth>(ReduceOp op, bool) {
  const bool all = op == ReduceOp::kMin || op == ReduceOp::kProduct;
  return all ? kLoops<Truth, std::uint8_t, Min>
             : kLoops<Truth, std::uint8_t, Max>;
}

const ReduceKernel::Loops& loops_for(const Reduction& reduction) {
  const bool exact =
      reduction.op == ReduceOp::kAverage || reduction.postscale != 1.0;
  return visit(reduction.dtype,
               [&]<typename T>(TypeTag<T>) -> const ReduceKernel::Loops& {
                 using Element =
                     std::conditional_t<std::is_same_v<T, bool>, Truth, T>;
                 return loops_for<Element>(reduction.op, exact);
               });
}

std::int64_t divisor_of(const Reduction& reduction, int ranks) {
  if (reduction.op != ReduceOp::kAverage) return 1;
  return reduction.participants > 0 ? reduction.participants : ranks;
}

}  // namespace

ReduceKernel::ReduceKernel(const Reduction& reduction, int ranks)
    : scales_{.prescale = reduction.prescale,
              .postscale = reduction.postscale,
              .divisor = divisor_of(reduction, ranks)},
      loops_(&loops_for(reduction)) {}

std::size_t ReduceKernel::element_bytes() const {
  return loops_->element_bytes;
}

std::size_t ReduceKernel::accumulator_bytes() const {
  return loops_->accumulator_bytes;
}

void ReduceKernel::reduce(std::span<const void* const> inputs, void* output,
                          std::int64_t count) const {
  loops_->reduce(inputs, output, count, scales_);
}

void ReduceKernel::load(const void* input, void* accumulators,
                        std::int64_t count) const {
  loops_->load(input, accumulators, count, scales_);
}

void ReduceKernel::combine(void* accumulators, const void* input,
                           std::int64_t count) const {
  loops_->combine(accumulators, input, count, scales_);
}

void ReduceKernel::store(void* accumulators, void* output,
                         std::int64_t count) const {
  loops_->store(accumulators, output, count, scales_);
}

}  // namespace hvd::collective
