// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cut_search.h"

#include <algorithm>
#include <utility>

namespace hvd::coordinator {
namespace {

// A cut wins if it saves this part of a step.
constexpr double kWinningGain = 0.0025;
// A cut is close to the best if its steps take at most this part more.
constexpr double kClose = 0.03;
constexpr int kMostLosses = 3;

}  // namespace

const CutSearch::Tried* CutSearch::find(const Arrangement& cut) const {
  const auto found =
      std::find_if(tried_.begin(), tried_.end(),
                   [&](const Tried& tried) { return tried.cut == cut; });
  return found == tried_.end() ? nullptr : &*found;
}

std::optional<TuningSample> CutSearch::best_sample() const {
  const Tried* const best = find(best_);
  if (best == nullptr) return std::nullopt;
  return best->fastest;
}

bool CutSearch::has_trials() const {
  return !is_over_ && samples_ > limits_.warm_ups &&
         trials_ < limits_.max_trials;
}

std::optional<Arrangement> CutSearch::measured(const Arrangement& now,
                                               const TuningSample& sample) {
  ++samples_;
  auto mine =
      std::find_if(tried_.begin(), tried_.end(),
                   [&](const Tried& tried) { return tried.cut == now; });
  if (mine == tried_.end()) {
    mine = tried_.insert(mine, {.cut = now, .fastest = sample});
  }
  ++mine->times;
  if (sample.step_seconds < mine->fastest.step_seconds) mine->fastest = sample;
  if (now == best_) return std::nullopt;
  const std::optional<TuningSample> best = best_sample();
  if (best &&
      mine->fastest.step_seconds > (1 - kWinningGain) * best->step_seconds) {
    if (mine->times == 1) ++losses_;
    return best_;
  }
  best_ = now;
  losses_ = 0;
  return std::nullopt;
}

bool CutSearch::may_try(const Arrangement& cut) const {
  return has_trials() && losses_ < kMostLosses && find(cut) == nullptr;
}

Arrangement CutSearch::try_new(Arrangement cut) {
  ++trials_;
  return cut;
}

std::optional<Arrangement> CutSearch::try_close_one() {
  const std::optional<TuningSample> best = best_sample();
  if (!best || !has_trials()) return std::nullopt;
  const Tried* closest = nullptr;
  double limit = (1 + kClose) * best->step_seconds;
  for (const Tried& tried : tried_) {
    const double step = tried.fastest.step_seconds;
    if (tried.times > 1 || tried.cut == best_ || step > limit) continue;
    closest = &tried;
    limit = step;
  }
  if (closest == nullptr) return std::nullopt;
  ++trials_;
  return closest->cut;
}

std::optional<Arrangement> CutSearch::could_not_follow(
    const Arrangement& now, const Arrangement& usual) {
  if (now == best_) {
    // It may come from an earlier job.
    if (now == usual) return std::nullopt;
    best_ = usual;
  }
  is_over_ = true;
  return best_;
}

}  // namespace hvd::coordinator
