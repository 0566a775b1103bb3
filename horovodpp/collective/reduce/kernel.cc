// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/kernel.h"

#include <utility>

#include "horovodpp/collective/reduce/loops.h"

namespace hvd::collective {
namespace {

const ReduceLoops& loops_for(const Reduction& reduction) {
  const auto [dtype, op] = std::pair(reduction.dtype, reduction.op);
  if (is_floating_point(dtype)) return vector_float_loops(dtype, op);
  const bool finished = describe(op).divides || reduction.postscale != 1.0;
  const bool scaled = finished || reduction.prescale != 1.0;
  if (!scaled || dtype == DType::kBool) {
    const ReduceLoops* loops = vector_integer_loops(dtype, op);
    if (loops != nullptr) return *loops;
  }
  return integer_loops(dtype, op, finished);
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
  loops_->reduce(inputs, {&output, 1}, count, scales_);
}

void ReduceKernel::reduce(std::span<const void* const> inputs,
                          std::span<void* const> outputs,
                          std::int64_t count) const {
  loops_->reduce(inputs, outputs, count, scales_);
}

void ReduceKernel::load(const void* input, void* accumulators,
                        std::int64_t count) const {
  loops_->load(input, accumulators, count, scales_);
}

void ReduceKernel::combine(void* accumulators, const void* input,
                           std::int64_t count) const {
  loops_->combine(accumulators, input, count, scales_);
}

void ReduceKernel::merge(void* accumulators, const void* others,
                         std::int64_t count) const {
  loops_->merge(accumulators, others, count, ReduceScales());
}

void ReduceKernel::store(void* accumulators, void* output,
                         std::int64_t count) const {
  loops_->store(accumulators, output, count, scales_);
}

}  // namespace hvd::collective
