// SPDX-License-Identifier: Apache-2.0
// The table of vector loops behind rows.h, one for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hvd::autograd {

struct RowLoops {
  double (*sum)(const float*, std::size_t);
  double (*dot)(const float*, const float*, std::size_t);
  double (*sum_of_squares)(const float*, std::size_t);
  // Stores nothing if the output is null.
  double (*exp_sum)(const float*, float, float*, std::size_t);
  void (*scaled_exp)(const float*, float, float, float*, std::size_t);
  float (*max)(const float*, std::size_t);
  // Index of the first element equal to the value; n if none.
  std::size_t (*find)(const float*, float, std::size_t);
  void (*add_columns)(const float*, std::size_t, std::int64_t, float*,
                      std::size_t);
};

}  // namespace hvd::autograd
