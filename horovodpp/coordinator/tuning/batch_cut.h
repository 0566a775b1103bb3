// SPDX-License-Identifier: Apache-2.0
// Cuts the tensors of a step into batches such that the last batch ends as
// early as possible, by dynamic programming.
//
// Batches run one after another. A batch begins when all its tensors have
// arrived and the batch before it has ended:
//
//   end(j) = min over i < j of max(end(i), arrival(j - 1)) + seconds(i, j)
//
// where the batch of tensors i to j - 1 ends the first j tensors. An earlier
// end of the first i tensors never delays the rest, so the minimum is exact.
// (Shi, Chu and Li, "MG-WFBP: Efficient Data Communication for Distributed
// Synchronous SGD Algorithms", INFOCOM 2019)
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "horovodpp/coordinator/tuning/path_fit.h"

namespace hvd::coordinator {

// A tensor, or a group of tensors that run together.
struct CutPiece {
  double arrival = 0;  // Seconds.
  BatchLoad load = {};
  // Pieces of different kinds between two cuts run as one batch for each kind.
  std::size_t kind = 0;
};

struct CutLimits {
  double bytes = 128u << 20;  // Between two cuts; a larger piece is alone.
  std::size_t pieces = 1024;  // Likewise.
  // The part of the time until the end that fewer batches may cost.
  double slack = 0;
};

// `pieces` in the order of their arrival; `paths`: of each kind. Returns for
// each batch the index after its last piece. Batches are as long as the end
// allows, the last ones first.
std::vector<std::size_t> cut_batches(std::span<const CutPiece> pieces,
                                     std::span<const PathCurve> paths,
                                     const CutLimits& limits = {});

// When the last batch of a cut ends. `pieces` in any order.
double end_of_cut(std::span<const CutPiece> pieces,
                  std::span<const PathCurve> paths,
                  std::span<const std::size_t> cuts);

}  // namespace hvd::coordinator
