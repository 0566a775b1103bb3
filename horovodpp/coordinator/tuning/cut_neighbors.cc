// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cut_neighbors.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace hvd::coordinator {

std::vector<std::size_t> halve_batches(std::span<const double> bytes,
                                       std::span<const std::size_t> cuts) {
  std::vector<std::size_t> halves;
  std::size_t first = 0;
  for (const std::size_t cut : cuts) {
    const auto batch = bytes.subspan(first, cut - first);
    const double all = std::accumulate(batch.begin(), batch.end(), 0.0);
    double before = 0;
    double least = std::numeric_limits<double>::infinity();
    std::size_t middle = cut;
    for (std::size_t i = first + 1; i < cut; ++i) {
      before += bytes[i - 1];
      const double difference = std::abs(all - 2 * before);
      if (difference >= least) break;
      least = difference;
      middle = i;
    }
    if (middle < cut) halves.push_back(middle);
    halves.push_back(cut);
    first = cut;
  }
  return halves;
}

std::vector<std::size_t> join_batches(std::span<const std::size_t> cuts) {
  std::vector<std::size_t> joined;
  for (std::size_t i = 1; i < cuts.size(); i += 2) joined.push_back(cuts[i]);
  if (cuts.size() % 2 == 1) joined.push_back(cuts.back());
  return joined;
}

}  // namespace hvd::coordinator
