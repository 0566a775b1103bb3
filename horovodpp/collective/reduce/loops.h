// SPDX-License-Identifier: Apache-2.0
// The loops under a ReduceKernel: a table of functions for each element type
// and op. The tables are in these files:
//
//   vector_floats.cc    f16, bf16, f32, f64, in the vectors of this machine
//   vector_integers.cc  integers and bool, likewise, without scaling
//   integer_loops.cc    integers that are averaged or scaled, and products
//                       without vector instructions
//
// All tables of one reduction give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd::collective {

struct ReduceScales {
  double prescale = 1.0;
  double postscale = 1.0;
  std::int64_t divisor = 1;
};

struct ReduceLoops {
  std::size_t element_bytes;
  std::size_t accumulator_bytes;
  void (*reduce)(std::span<const void* const> inputs,
                 std::span<void* const> outputs, std::int64_t count,
                 const ReduceScales& scales);
  void (*load)(const void* input, void* accumulators, std::int64_t count,
               const ReduceScales& scales);
  void (*combine)(void* accumulators, const void* input, std::int64_t count,
                  const ReduceScales& scales);
  // As combine, of other accumulators, without scaling.
  void (*merge)(void* accumulators, const void* others, std::int64_t count,
                const ReduceScales& none);
  void (*store)(void* accumulators, void* output, std::int64_t count,
                const ReduceScales& scales);
};

// For a floating-point type.
const ReduceLoops& vector_float_loops(DType dtype, ReduceOp op);

// For an integer type or bool; null if the op has no vector form for it.
const ReduceLoops* vector_integer_loops(DType dtype, ReduceOp op);

// For an integer type. `exact`: sums and products must not wrap, because they
// are divided or scaled at the end.
const ReduceLoops& integer_loops(DType dtype, ReduceOp op, bool exact);

}  // namespace hvd::collective
