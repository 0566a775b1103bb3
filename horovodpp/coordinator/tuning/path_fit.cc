// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/path_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace hvd::coordinator {
namespace {

constexpr std::size_t kKept = 9;  // Batches of a size class.
constexpr int kRounds = 8;        // Of the fit.
// A batch wakes a thread, although buffers may hide that from the fit.
constexpr double kLeastSeconds = 10e-6;
// The batches of a size that correct the line by half.
constexpr double kHalfCertain = 2;
// The weight of the shortest batches.
constexpr double kLeastWeight = 0.01;
// Bounds of errors, for their logarithms.
constexpr double kLeastRatio = 1e-6;
constexpr double kLeastError = 1e-6;
// The weight of the prior, relative to that of one batch.
constexpr double kPriorWeight = 1e-5;

using Vector = std::array<double, 3>;

// The normal equations of a weighted least-squares fit.
struct Equations {
  std::array<Vector, 3> matrix = {};
  Vector right = {};

  void add(const Vector& row, double value, double weight) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        matrix[i][j] += weight * row[i] * row[j];
      }
      right[i] += weight * row[i] * value;
    }
  }
};

// Solves for the unknowns in the bit set `of`; the others are zero. Gaussian
// elimination needs no pivoting, since the matrix is positive definite.
std::optional<Vector> solve(Equations equations, unsigned of) {
  auto& [matrix, right] = equations;
  const auto is_in = [of](std::size_t i) { return (of >> i & 1) != 0; };
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_in(i)) continue;
    if (!(matrix[i][i] > 0)) return std::nullopt;
    for (std::size_t j = i + 1; j < 3; ++j) {
      if (!is_in(j)) continue;
      const double factor = matrix[j][i] / matrix[i][i];
      for (std::size_t k = i; k < 3; ++k) {
        matrix[j][k] -= factor * matrix[i][k];
      }
      right[j] -= factor * right[i];
    }
  }
  Vector found = {};
  for (std::size_t i = 3; i-- > 0;) {
    if (!is_in(i)) continue;
    double value = right[i];
    for (std::size_t j = i + 1; j < 3; ++j) value -= matrix[i][j] * found[j];
    found[i] = value / matrix[i][i];
    if (!(found[i] >= 0)) return std::nullopt;
  }
  return found;
}

// The best fit without negative coefficients. It solves the equations of one of
// the eight sets of unknowns exactly.
Vector solve_without_negatives(const Equations& equations) {
  Vector best = {};
  double best_gain = 0;
  for (unsigned of = 1; of < 8; ++of) {
    const auto found = solve(equations, of);
    if (!found) continue;
    double gain = 0;  // By which the squares' sum is lower than for zeros.
    for (std::size_t i = 0; i < 3; ++i) {
      gain += equations.right[i] * (*found)[i];
    }
    if (gain > best_gain) {
      best_gain = gain;
      best = *found;
    }
  }
  return best;
}

}  // namespace

void PathFit::add(const BatchLoad& load, double seconds) {
  if (!std::isfinite(seconds) || !(seconds > 0) || !(load.bytes >= 0) ||
      !(load.tensors > 0) || load.bytes > 1e18) {
    return;
  }
  const auto digits = static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(load.bytes)));
  SizeClass& sizes = classes_[std::min(digits, classes_.size() - 1)];
  if (sizes.last.size() < kKept) {
    sizes.last.push_back({load, seconds});
  } else {
    sizes.last[std::exchange(sizes.next, (sizes.next + 1) % kKept)] = {load,
                                                                       seconds};
  }
  ++batches_;
  is_current_ = false;
}

// Each size class counts by one batch, its median relative to the line, so that
// outliers do not count, and the many batches of one size count no more than the
// few of another. Errors are those of logarithms: a round weighs the relative
// errors accordingly. Long batches count more: they decide when a step ends, and
// short ones may be unlike them, since buffers take in what is short at once.
const PathLine& PathFit::line() const {
  if (std::exchange(is_current_, true)) return line_;
  const Vector unit = {std::max(prior_.start, 1e-9),
                       std::max(prior_.per_tensor, 1e-12),
                       std::max(prior_.per_byte, 1e-14)};
  double longest = 0;
  for (const SizeClass& sizes : classes_) {
    for (const Sample& sample : sizes.last) {
      longest = std::max(longest, sample.seconds);
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    Equations equations;
    const Vector now = {line_.start, line_.per_tensor, line_.per_byte};
    for (std::size_t i = 0; i < 3; ++i) {
      // A coefficient far above the prior is no error that grows with it.
      const double above = std::max(now[i] / unit[i], 1.0);
      Vector row = {};
      row[i] = 1;
      equations.add(row, 1, kPriorWeight / (above * above));
    }
    for (const SizeClass& sizes : classes_) {
      if (sizes.last.empty()) continue;
      const auto& [load, seconds] = median_of(sizes);
      const Vector row = {unit[0] / seconds, unit[1] * load.tensors / seconds,
                          unit[2] * load.bytes / seconds};
      const double ratio = std::max(line_.seconds(load) / seconds, kLeastRatio);
      const double error = ratio - 1;
      const double weight =
          std::abs(error) < kLeastError ? 1 : std::log(ratio) / error;
      equations.add(
          row, 1, weight * weight * std::max(seconds / longest, kLeastWeight));
    }
    const Vector found = solve_without_negatives(equations);
    line_ = {found[0] * unit[0], found[1] * unit[1], found[2] * unit[2]};
  }
  return line_;
}

// The median of a size counts the more, the more batches it has.
PathCurve PathFit::curve() const {
  PathCurve curve(line());
  std::vector<PathCurve::Knot>& knots = curve.knots_;
  for (const SizeClass& sizes : classes_) {
    if (sizes.last.empty()) continue;
    const auto& [load, seconds] = median_of(sizes);
    const auto count = static_cast<double>(sizes.last.size());
    const double by_line = line_.seconds(load);
    if (!(by_line > 0)) continue;
    const double ratio =
        std::pow(seconds / by_line, count / (count + kHalfCertain));
    const double for_bytes =
        std::max(ratio * by_line - line_.per_tensor * load.tensors, 0.0);
    knots.push_back({load.bytes, for_bytes, count});
    // Neighbors in the wrong order share their mean.
    for (std::size_t i = knots.size() - 1;
         i > 0 && knots[i - 1].seconds > knots[i].seconds; --i) {
      double sum = 0;
      double weight = 0;
      const double before = knots[i - 1].seconds;
      std::size_t first = i - 1;
      while (first > 0 && knots[first - 1].seconds == before) --first;
      for (std::size_t k = first; k < knots.size(); ++k) {
        sum += knots[k].seconds * knots[k].weight;
        weight += knots[k].weight;
      }
      for (std::size_t k = first; k < knots.size(); ++k) {
        knots[k].seconds = sum / weight;
      }
      i = first + 1;
    }
  }
  return curve;
}

double PathCurve::seconds(const BatchLoad& load) const {
  return std::max(estimate(load), kLeastSeconds);
}

double PathCurve::estimate(const BatchLoad& load) const {
  if (knots_.empty()) return line_.seconds(load);
  const double for_tensors = line_.per_tensor * load.tensors;
  const auto above = std::upper_bound(
      knots_.begin(), knots_.end(), load.bytes,
      [](double bytes, const Knot& knot) { return bytes < knot.bytes; });
  if (above == knots_.begin()) {
    const double less = line_.per_byte * (above->bytes - load.bytes);
    return for_tensors + std::max(above->seconds - less, 0.0);
  }
  const Knot& left = *std::prev(above);
  if (above == knots_.end()) {
    // At the rate of the longest.
    const double per_byte = std::max(
        line_.per_byte, left.bytes > 0 ? left.seconds / left.bytes : 0.0);
    return for_tensors + left.seconds + per_byte * (load.bytes - left.bytes);
  }
  return for_tensors + left.seconds +
         (above->seconds - left.seconds) * (load.bytes - left.bytes) /
             (above->bytes - left.bytes);
}

PathFit::Sample PathFit::median_of(const SizeClass& sizes) const {
  std::vector<Sample> samples = sizes.last;
  const auto middle =
      samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end(),
                   [this](const Sample& a, const Sample& b) {
                     return a.seconds * line_.seconds(b.load) <
                            b.seconds * line_.seconds(a.load);
                   });
  return *middle;
}

}  // namespace hvd::coordinator
