// SPDX-License-Identifier: Apache-2.0
// A vectorized choice between elements of four bytes by a row of bools.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hvd::autograd {

// The elements of one row: side by side or, if `repeats`, one for all.
struct ChoiceRow {
  const std::uint32_t* data = nullptr;
  bool repeats = false;
};

// out[i] = condition[i] ? x[i] : y[i] for i below n; `out` may be x or y.
void choose_row(const bool* condition, const ChoiceRow& x, const ChoiceRow& y,
                std::uint32_t* out, std::size_t n);

}  // namespace hvd::autograd
