// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "horovodrun/report/statistics.h"

namespace hvd::launcher::report {
namespace {

constexpr std::size_t kMaxSizes = 64;
// Sizes within an eighth of an octave are similar.
constexpr double kClassesOfOctave = 8;

// The sums of weighted least squares.
struct Sums {
  double weight = 0;
  double x = 0;
  double xx = 0;
  double y = 0;
  double xy = 0;
};

// The relative error that half of the batches do not exceed.
double usual_error(const std::vector<CostPoint>& points, const CostFit& cost) {
  std::vector<std::pair<double, double>> errors;  // With counts.
  double all = 0;
  for (const CostPoint& one : points) {
    if (one.time_us <= 0) continue;
    errors.emplace_back(std::abs(cost.at(one.bytes) / one.time_us - 1),
                        one.count);
    all += one.count;
  }
  std::sort(errors.begin(), errors.end());
  double seen = 0;
  for (const auto& [error, count] : errors) {
    seen += count;
    if (2 * seen >= all) return error;
  }
  return 0;
}

}  // namespace

std::vector<CostPoint> medians_of(std::vector<CostPoint> batches) {
  std::map<double, std::vector<CostPoint>> classes;
  for (const CostPoint& one : batches) classes[one.bytes].push_back(one);
  if (classes.size() > kMaxSizes) {
    classes.clear();
    for (const CostPoint& one : batches) {
      classes[std::round(kClassesOfOctave * std::log2(one.bytes + 1))]
          .push_back(one);
    }
  }
  std::vector<CostPoint> result;
  for (const auto& [key, members] : classes) {
    std::vector<double> bytes;
    std::vector<double> times;
    for (const CostPoint& one : members) {
      bytes.push_back(one.bytes);
      times.push_back(one.time_us);
    }
    result.push_back({median(std::move(bytes)), median(std::move(times)),
                      static_cast<double>(members.size())});
  }
  return result;
}

CostFit fit(const std::vector<CostPoint>& points) {
  Sums sums;
  CostFit result;
  double least = HUGE_VAL;
  double most = 0;
  for (const CostPoint& one : points) {
    if (one.time_us <= 0) continue;
    const double weight = one.count / (one.time_us * one.time_us);
    sums.weight += weight;
    sums.x += weight * one.bytes;
    sums.xx += weight * one.bytes * one.bytes;
    sums.y += weight * one.time_us;
    sums.xy += weight * one.bytes * one.time_us;
    least = std::min(least, one.bytes);
    most = std::max(most, one.bytes);
    ++result.points;
  }
  if (result.points == 0) return result;
  result.has_sizes = most > 1.5 * least;
  const double divisor = sums.weight * sums.xx - sums.x * sums.x;
  if (result.has_sizes && divisor > 0) {
    result.beta_us_per_byte =
        (sums.weight * sums.xy - sums.x * sums.y) / divisor;
    result.alpha_us = (sums.y - result.beta_us_per_byte * sums.x) / sums.weight;
  }
  if (sums.xx == 0 || result.beta_us_per_byte < 0) {
    result.alpha_us = sums.y / sums.weight;
    result.beta_us_per_byte = 0;
  } else if (!result.has_sizes || result.alpha_us < 0) {
    result.alpha_us = 0;
    result.beta_us_per_byte = sums.xy / sums.xx;
  }
  result.error = usual_error(points, result);
  return result;
}

}  // namespace hvd::launcher::report
