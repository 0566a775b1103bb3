// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/kernel.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "horovodpp/collective/reduce/loops.h"

namespace hvd::collective {
namespace {

const ReduceLoops& loops_for(const Reduction& reduction) {
  const auto [dtype, op] = std::pair(reduction.dtype, reduction.op);
  if (is_floating_point(dtype)) return vector_float_loops(dtype, op);
  const bool finished = op == ReduceOp::kAverage || reduction.postscale != 1.0;
  const bool scaled = finished || reduction.prescale != 1.0;
  if (!scaled || dtype == DType::kBool) {
    const ReduceLoops* loops = vector_integer_loops(dtype, op);
    if (loops != nullptr) return *loops;
  }
  return integer_loops(dtype, op, finished);
}

std::int64_t divisor_of(const Reduction& reduction, int ranks) {
  if (reduction.op != ReduceOp::kAverage) return 1;
  return reduction.participants > 0 ? reduction.participants : ranks;
}

}  // namespace

// A call that does more than to reduce: block by block through a buffer that
// stays in the nearest cache.
class ReduceKernel::Blocks {
 public:
  Blocks(std::span<const void* const> inputs, std::span<void* const> outputs,
         const ReduceLoops& loops, const Extras& extras)
      : inputs_(inputs.begin(), inputs.end()),
        outputs_(outputs.begin(), outputs.end()),
        loops_(loops),
        extras_(extras),
        examines_(extras.findings != nullptr && loops.examine != nullptr) {}

  void run(std::int64_t count, const ReduceScales& scales) {
    void* const block = block_;
    const auto most = static_cast<std::int64_t>(ReduceLoops::kBlockBytes /
                                                loops_.element_bytes);
    for (std::int64_t at = 0; at < count; at += most) {
      const std::int64_t length = std::min(most, count - at);
      loops_.reduce(inputs_, {&block, 1}, length, scales);
      if (examines_) examine(length);
      if (extras_.update != nullptr) (*extras_.update)(block_, length, at);
      put(static_cast<std::size_t>(length) * loops_.element_bytes);
    }
    if (!examines_) return;
    double sum = 0;
    for (const double part : norm_) sum += part;
    extras_.findings->squared_norm += sum;
  }

 private:
  // Zeros up to a whole number of lanes change nothing.
  void examine(std::int64_t length) {
    constexpr auto kLaneCount =
        static_cast<std::int64_t>(ReduceLoops::kNormLanes);
    const std::int64_t whole =
        (length + kLaneCount - 1) / kLaneCount * kLaneCount;
    const std::size_t bytes = loops_.element_bytes;
    std::memset(block_ + static_cast<std::size_t>(length) * bytes, 0,
                static_cast<std::size_t>(whole - length) * bytes);
    if (!loops_.examine(block_, whole, norm_)) extras_.findings->finite = false;
  }

  void put(std::size_t bytes) {
    for (const void*& input : inputs_) {
      input = static_cast<const std::byte*>(input) + bytes;
    }
    for (void*& output : outputs_) {
      std::memcpy(output, block_, bytes);
      output = static_cast<std::byte*>(output) + bytes;
    }
  }

  absl::InlinedVector<const void*, 16> inputs_;  // What is left of them.
  absl::InlinedVector<void*, 16> outputs_;
  const ReduceLoops& loops_;
  const Extras& extras_;
  const bool examines_;
  double norm_[ReduceLoops::kNormLanes] = {};
  alignas(64) std::byte block_[ReduceLoops::kBlockBytes];
};

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
                          std::span<void* const> outputs, std::int64_t count,
                          const Extras& extras) const {
  if (extras.findings != nullptr || extras.update != nullptr) {
    Blocks(inputs, outputs, *loops_, extras).run(count, scales_);
  } else {
    loops_->reduce(inputs, outputs, count, scales_);
  }
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
