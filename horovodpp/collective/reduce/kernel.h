// SPDX-License-Identifier: Apache-2.0
// A ReduceKernel is the arithmetic of one reduction: the loops that combine the
// ranks' contributions to a tensor, chosen once by dtype and op.
//
//   const ReduceKernel kernel(reduction, ranks);
//   kernel.reduce(contributions, result, count);        // all at once,
//   kernel.reduce(contributions, results, count);       // to several places, or
//   kernel.load(first, accumulators, count);            // one by one, with
//   kernel.combine(accumulators, second, count);        // accumulators that
//   kernel.merge(accumulators, others, count);          // may travel
//   kernel.store(accumulators, result, count);
//
// Contributions are combined strictly in the given order, element by element.
// So equal inputs give equal bits, however the elements are cut into calls and
// however wide this machine's vectors are.
//
// Counts are in elements; zero is legal. Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/collective/reduce/loops.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

class ReduceKernel {
 public:
  // `reduction` has passed check(). An average divides by its participants, or
  // by `ranks` if that is 0. Where sums must not wrap, they are exact for up to
  // 2^16 contributions.
  ReduceKernel(const Reduction& reduction, int ranks);

  // Bytes of one element, and of one accumulator. Accumulators are aligned to
  // their size, and never smaller than elements.
  std::size_t element_bytes() const;
  std::size_t accumulator_bytes() const;

  // Combines all `inputs` (one or more) and writes the finished result.
  // `output` may be one of the inputs; otherwise they do not overlap.
  void reduce(std::span<const void* const> inputs, void* output,
              std::int64_t count) const;

  // As above, in the same single pass, into each of `outputs` (one or more).
  // Any output may be one of the inputs; no others overlap.
  void reduce(std::span<const void* const> inputs,
              std::span<void* const> outputs, std::int64_t count) const;

  // accumulators = scaled input
  void load(const void* input, void* accumulators, std::int64_t count) const;

  // accumulators = accumulators op scaled input
  void combine(void* accumulators, const void* input, std::int64_t count) const;

  // accumulators = accumulators op others, which are accumulators, too
  void merge(void* accumulators, const void* others, std::int64_t count) const;

  // output = finished accumulators, whose memory is overwritten
  void store(void* accumulators, void* output, std::int64_t count) const;

 private:
  ReduceScales scales_;
  const ReduceLoops* loops_;  // For one element type and op.
};

}  // namespace hvd::collective
