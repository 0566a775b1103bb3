// SPDX-License-Identifier: Apache-2.0
// The rows of a sparse gradient on all ranks: what GradientReducer::add_rows() comes
// to.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/buffer.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace replica {

// One rank's rows after the other's, in the order of ranks; rows repeat. The reduced
// gradient is their sum times the factor.
struct GatheredRows {
  Buffer rows = {};    // int64[n]
  Buffer values = {};  // [n, ...]
  double factor = 1.0;
};

}  // namespace replica
}  // namespace hvd
