// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/batch_cut.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace hvd::coordinator {
namespace {

// The load of pieces that are added one by one, and the time of their batches.
class Growing {
 public:
  explicit Growing(std::span<const PathCurve> paths)
      : paths_(paths), kinds_(paths.size()) {}

  void clear() {
    ++number_;
    seconds_ = bytes_ = 0;
    pieces_ = 0;
  }
  void add(const CutPiece& piece) {
    Kind& kind = kinds_[piece.kind];
    if (kind.number != number_) kind = {.number = number_};
    kind.load.bytes += piece.load.bytes;
    kind.load.tensors += piece.load.tensors;
    const double before =
        std::exchange(kind.seconds, paths_[piece.kind].seconds(kind.load));
    seconds_ += kind.seconds - before;
    bytes_ += piece.load.bytes;
    ++pieces_;
  }
  double seconds() const { return seconds_; }
  bool exceeds(const CutLimits& limits) const {
    return pieces_ > 1 && (bytes_ > limits.bytes || pieces_ > limits.pieces);
  }

 private:
  const std::span<const PathCurve> paths_;
  struct Kind {
    std::uint64_t number = 0;  // Of the batches to which the rest belongs.
    BatchLoad load = {};
    double seconds = 0;
  };
  std::vector<Kind> kinds_;
  std::uint64_t number_ = 0;
  double seconds_ = 0;
  double bytes_ = 0;
  std::size_t pieces_ = 0;
};

}  // namespace

std::vector<std::size_t> cut_batches(std::span<const CutPiece> pieces,
                                     std::span<const PathCurve> paths,
                                     const CutLimits& limits) {
  struct Best {
    double end = std::numeric_limits<double>::infinity();
    std::size_t from = 0;
  };
  std::vector<Best> best(pieces.size() + 1);
  best[0] = {.end = 0};
  Growing batch(paths);
  for (std::size_t j = 1; j <= pieces.size(); ++j) {
    batch.clear();
    const double arrival = pieces[j - 1].arrival;
    for (std::size_t i = j; i-- > 0;) {
      batch.add(pieces[i]);
      if (batch.exceeds(limits)) break;
      const double end = std::max(best[i].end, arrival) + batch.seconds();
      if (end <= best[j].end) best[j] = {end, i};
      // A longer batch begins no earlier.
      if (best[i].end <= arrival) break;
    }
  }
  // From the end, each batch is the longest that keeps the end: a batch more
  // costs the program processor time. best[i].end <= limit holds throughout.
  std::vector<std::size_t> cuts;
  double limit = (1 + limits.slack) * best.back().end;
  for (std::size_t j = pieces.size(); j > 0;) {
    cuts.push_back(j);
    std::size_t from = best[j].from;
    double seconds = 0;
    batch.clear();
    for (std::size_t i = j; i-- > 0;) {
      batch.add(pieces[i]);
      if (batch.exceeds(limits)) break;
      const double begin = std::max(best[i].end, pieces[j - 1].arrival);
      if (i > best[j].from) continue;
      if (i < best[j].from && begin + batch.seconds() > limit) break;
      from = i;
      seconds = batch.seconds();
    }
    limit -= seconds;
    j = from;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

double end_of_cut(std::span<const CutPiece> pieces,
                  std::span<const PathCurve> paths,
                  std::span<const std::size_t> cuts) {
  Growing batch(paths);
  double end = 0;
  std::size_t next = 0;
  for (const std::size_t cut : cuts) {
    batch.clear();
    double begin = end;
    for (; next < cut; ++next) {
      batch.add(pieces[next]);
      begin = std::max(begin, pieces[next].arrival);
    }
    end = begin + batch.seconds();
  }
  return end;
}

}  // namespace hvd::coordinator
