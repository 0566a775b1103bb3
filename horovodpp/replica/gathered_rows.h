// SPDX-License-Identifier: Apache-2.0
// The rows of a sparse gradient on all ranks: the result of
// GradientReducer::add_rows().
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/core/memory/buffer.h"

namespace HVD_EXPORT hvd {
namespace replica {

// The ranks' rows, one rank after the other; row numbers may repeat. The
// reduced gradient is the sum of the rows times the factor.
struct GatheredRows {
  Buffer rows = {};    // int64[n]
  Buffer values = {};  // [n, ...]
  double factor = 1.0;
};

}  // namespace replica
}  // namespace hvd
