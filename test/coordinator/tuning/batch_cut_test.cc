// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/batch_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

constexpr PathLine kUnit = {.start = 1, .per_byte = 1};

// Cut `number` of all cuts: bit i says whether a batch ends after piece i.
std::vector<std::size_t> cut_of(unsigned number, std::size_t pieces) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < pieces; ++i) {
    if (i + 1 == pieces || (number >> i & 1) != 0) cuts.push_back(i + 1);
  }
  return cuts;
}

bool is_within(const std::vector<CutPiece>& pieces,
               const std::vector<std::size_t>& cuts, const CutLimits& limits) {
  std::size_t first = 0;
  for (const std::size_t cut : cuts) {
    double bytes = 0;
    for (std::size_t i = first; i < cut; ++i) bytes += pieces[i].load.bytes;
    const std::size_t count = cut - first;
    if (count > 1 && (bytes > limits.bytes || count > limits.pieces)) {
      return false;
    }
    first = cut;
  }
  return true;
}

double best_of_all(const std::vector<CutPiece>& pieces,
                   const std::vector<PathCurve>& lines,
                   const CutLimits& limits) {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned number = 0; number < 1u << (pieces.size() - 1); ++number) {
    const auto cuts = cut_of(number, pieces.size());
    if (!is_within(pieces, cuts, limits)) continue;
    best = std::min(best, end_of_cut(pieces, lines, cuts));
  }
  return best;
}

TEST(BatchCut, IsAsGoodAsTheBestOfAllCuts) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int run = 0; run < 2000; ++run) {
    const std::size_t count = 1 + random() % 10;
    const std::size_t kinds = 1 + random() % 3;
    std::vector<PathCurve> lines;
    for (std::size_t i = 0; i < kinds; ++i) {
      lines.push_back(PathLine{.start = unit(random),
                               .per_tensor = 0.1 * unit(random),
                               .per_byte = unit(random)});
    }
    std::vector<CutPiece> pieces;
    double arrival = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (random() % 4 != 0) arrival += unit(random);
      pieces.push_back({.arrival = arrival,
                        .load = {.bytes = unit(random), .tensors = 1},
                        .kind = random() % kinds});
    }
    CutLimits limits;
    if (random() % 2 == 0) limits.bytes = 2 * unit(random);
    if (random() % 2 == 0) limits.pieces = 1 + random() % 4;
    const auto cuts = cut_batches(pieces, lines, limits);
    ASSERT_TRUE(is_within(pieces, cuts, limits)) << "run " << run;
    ASSERT_EQ(cuts.back(), count);
    ASSERT_NEAR(end_of_cut(pieces, lines, cuts),
                best_of_all(pieces, lines, limits), 1e-9)
        << "run " << run;
  }
}

TEST(BatchCut, FusesPiecesThatArriveTogether) {
  const std::vector<PathCurve> lines = {kUnit};
  const std::vector<CutPiece> pieces(4, {.arrival = 5, .load = {1, 1}});
  EXPECT_THAT(cut_batches(pieces, lines), ElementsAre(4));
}

TEST(BatchCut, SendsEarlyPiecesAlone) {
  const std::vector<PathCurve> lines = {kUnit};
  const std::vector<CutPiece> pieces = {{.arrival = 0, .load = {10, 1}},
                                        {.arrival = 20, .load = {10, 1}}};
  EXPECT_THAT(cut_batches(pieces, lines), ElementsAre(1, 2));
}

TEST(BatchCut, HasFewBatchesWhereMoreGainNothing) {
  // The last piece comes long after all others.
  const std::vector<PathCurve> lines = {kUnit};
  std::vector<CutPiece> pieces(5, {.arrival = 0, .load = {1, 1}});
  pieces.push_back({.arrival = 100, .load = {1, 1}});
  EXPECT_THAT(cut_batches(pieces, lines), ElementsAre(5, 6));
}

TEST(BatchCut, CutsNothing) {
  EXPECT_THAT(cut_batches({}, std::vector<PathCurve>(1)), ElementsAre());
  EXPECT_EQ(end_of_cut({}, std::vector<PathCurve>(1), {}), 0);
}

}  // namespace
}  // namespace hvd::coordinator
