// The loops under a ReduceKernel, as a table of functions per element type and
// op, and where such tables come from:
//
//   vector_floats.cc    f16, bf16, f32, f64, in the vectors of this machine
//   vector_integers.cc  integers and bool, the same, as long as nothing scales
//   integer_loops.cc    integers that are averaged or scaled, and the products
//                       for which there are no vector instructions
//
// All tables of one reduction give the same bits. For reduce_kernels.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/collective/reduce_kernels.h"

namespace hvd::collective {

struct ReduceKernel::Loops {
  // What is worth an examination at a time; never more than this many bytes.
  static constexpr std::size_t kBlockBytes = 4096;

  // The squares of element i of a call are added up in entry i % kNormLanes, so
  // that the sum does not depend on how many a vector holds.
  static constexpr std::size_t kNormLanes = 32;

  std::size_t element_bytes;
  std::size_t accumulator_bytes;
  void (*reduce)(std::span<const void* const> inputs,
                 std::span<void* const> outputs, std::int64_t count,
                 const Scales& scales);
  void (*load)(const void* input, void* accumulators, std::int64_t count,
               const Scales& scales);
  void (*combine)(void* accumulators, const void* input, std::int64_t count,
                  const Scales& scales);
  // As combine, of other accumulators, and nothing scaled.
  void (*merge)(void* accumulators, const void* others, std::int64_t count,
                const Scales& none);
  void (*store)(void* accumulators, void* output, std::int64_t count,
                const Scales& scales);

  // Adds the squares of `count` elements, a multiple of kNormLanes, to `norm`;
  // returns whether all elements are finite. Null for integers.
  bool (*examine)(const void* elements, std::int64_t count, double* norm);
};

// Of a floating-point type.
const ReduceKernel::Loops& vector_float_loops(DType dtype, ReduceOp op);

// Of an integer type or bool; null where there are none.
const ReduceKernel::Loops* vector_integer_loops(DType dtype, ReduceOp op);

// Of an integer type. `exact`: sums and products must not wrap, since they are
// divided or scaled at the end.
const ReduceKernel::Loops& integer_loops(DType dtype, ReduceOp op, bool exact);

}  // namespace hvd::collective
