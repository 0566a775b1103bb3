// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/analysis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodrun/report/replay.h"
#include "horovodrun/report/statistics.h"

namespace hvd::launcher::report {
namespace {

// As summaries of steps do: docs/observability.md, "How a slow rank is found".
constexpr double kSlowShareOfStep = 0.1;
constexpr double kSlowShareOfBatches = 0.75;

// Batches that all ranks have: for each, a value of every rank.
using OfBatches = std::unordered_map<std::uint64_t, std::vector<double>>;

template <typename Value>
OfBatches of_common_batches(const std::vector<RankTrace>& ranks,
                            const Value& value) {
  OfBatches result;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const Batch& batch : ranks[i].batches) {
      if (!batch.number || !batch.needs_all) continue;
      std::vector<double>& values = result[*batch.number];
      if (values.size() == i) values.push_back(value(batch));
    }
  }
  std::erase_if(result, [&](const auto& one) {
    return one.second.size() != ranks.size();
  });
  return result;
}

class Analyst {
 public:
  explicit Analyst(const std::vector<RankTrace>& ranks) : ranks_(ranks) {}

  Analysis run() {
    for (const RankTrace& rank : ranks_) {
      result_.duration_us = std::max(result_.duration_us, rank.extent.end);
    }
    find_steps();
    find_exposed();
    find_latest();
    add_tensors();
    add_fusion();
    add_planes();
    add_what_if();
    return std::move(result_);
  }

 private:
  void find_steps();
  void steps_from_tensors();
  void find_exposed();
  void find_latest();
  void add_tensors();
  void add_fusion();
  void add_planes();
  void add_what_if();
  std::size_t least_exposed() const;
  double predicted_step(double latency, double bandwidth) const;
  double of_steps(const Intervals& set) const;

  const std::vector<RankTrace>& ranks_;
  Analysis result_;
};

void Analyst::find_steps() {
  const RankTrace& first = ranks_[0];
  if (first.steps.size() > 1) {
    result_.steps_from = "STEP_END";
    result_.step_begins = first.steps;
  } else if (first.cycles.size() > 1) {
    result_.steps_from = "CYCLE_START";
    result_.step_begins = first.cycles;
  } else {
    steps_from_tensors();
  }
  std::vector<double> times;
  for (std::size_t i = 1; i < result_.step_begins.size(); ++i) {
    times.push_back(result_.step_begins[i] - result_.step_begins[i - 1]);
  }
  result_.step_us = quantile(times, 0.5);
  result_.slow_step_us = quantile(std::move(times), 0.95);
}

// Most tensors are reduced once in a step.
void Analyst::steps_from_tensors() {
  std::map<std::size_t, int> tensors;  // By their number of submissions.
  for (const TensorUse& one : ranks_[0].tensors) {
    if (one.submitted.size() > 1) ++tensors[one.submitted.size()];
  }
  const auto usual = std::max_element(
      tensors.begin(), tensors.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual == tensors.end()) return;
  const auto first = std::find_if(
      ranks_[0].tensors.begin(), ranks_[0].tensors.end(),
      [&](const auto& one) { return one.submitted.size() == usual->first; });
  result_.steps_from = first->name;
  result_.step_begins = first->submitted;
}

void Analyst::find_exposed() {
  for (const RankTrace& rank : ranks_) {
    if (!rank.waits.empty()) result_.basis = Basis::kWaits;
    if (!rank.work.empty() && result_.basis == Basis::kNone) {
      result_.basis = Basis::kWork;
    }
  }
  double exposed = 0;
  double hidden = 0;
  for (const RankTrace& rank : ranks_) {
    RankFacts facts = {.rank = rank.rank};
    for (const WorkSpan& span : rank.work) facts.work.push_back(span.at);
    facts.work = united(std::move(facts.work));
    Intervals all = rank.negotiations;
    all.insert(all.end(), rank.runs.begin(), rank.runs.end());
    all = united(std::move(all));
    if (result_.basis == Basis::kWaits) {
      facts.exposed = rank.waits;
      facts.hidden = without(all, rank.waits);
    } else {
      facts.exposed = without(all, facts.work);
      facts.hidden = both(all, facts.work);
    }
    exposed += of_steps(facts.exposed);
    hidden += of_steps(facts.hidden);
    result_.ranks.push_back(std::move(facts));
  }
  if (result_.steps() == 0) return;
  const double steps = result_.steps() * static_cast<double>(ranks_.size());
  result_.exposed_of_step_us = exposed / steps;
  result_.hidden_of_step_us = hidden / steps;
}

// The length within steps.
double Analyst::of_steps(const Intervals& set) const {
  if (result_.steps() == 0) return 0;
  return total_length(
      both(set, {{result_.step_begins.front(), result_.step_begins.back()}}));
}

void Analyst::find_latest() {
  if (ranks_.size() < 2) return;
  const OfBatches waits = of_common_batches(
      ranks_, [](const Batch& batch) { return batch.waited(); });
  result_.compared_batches = static_cast<double>(waits.size());
  if (waits.empty()) return;
  std::vector<std::vector<double>> lateness(ranks_.size());
  std::vector<double> last(ranks_.size());
  for (const auto& [number, of_ranks] : waits) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      std::vector<double> others = of_ranks;
      others.erase(others.begin() + static_cast<long>(i));
      lateness[i].push_back(median(std::move(others)) - of_ranks[i]);
    }
    const auto least = std::min_element(of_ranks.begin(), of_ranks.end());
    ++last[static_cast<std::size_t>(least - of_ranks.begin())];
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    RankFacts& rank = result_.ranks[i];
    rank.lateness_us = median(std::move(lateness[i]));
    rank.last_share = last[i] / result_.compared_batches;
  }
  const auto latest =
      std::max_element(result_.ranks.begin(), result_.ranks.end(),
                       [](const RankFacts& a, const RankFacts& b) {
                         return a.lateness_us < b.lateness_us;
                       });
  result_.latest = static_cast<int>(latest - result_.ranks.begin());
  result_.is_slow = result_.step_us > 0 &&
                    latest->lateness_us > kSlowShareOfStep * result_.step_us &&
                    latest->last_share >= kSlowShareOfBatches;
}

void Analyst::add_tensors() {
  std::map<std::string, TensorFacts> all;
  double waited = 0;
  for (const RankTrace& rank : ranks_) {
    for (const TensorUse& one : rank.tensors) {
      TensorFacts& facts = all[one.name];
      facts.name = one.name;
      facts.waited_us += one.waited_us;
      facts.ran_us += one.ran_us;
      facts.bytes += one.bytes;
      facts.calls += one.calls;
      waited += one.waited_us;
    }
  }
  for (auto& [name, facts] : all) {
    facts.waited_share = waited > 0 ? facts.waited_us / waited : 0;
    const double calls = std::max(1.0, facts.calls);
    facts.waited_us /= calls;
    facts.ran_us /= calls;
    facts.bytes /= calls;
    facts.calls /= static_cast<double>(ranks_.size());
    result_.tensors.push_back(std::move(facts));
  }
  std::stable_sort(result_.tensors.begin(), result_.tensors.end(),
                   [](const TensorFacts& a, const TensorFacts& b) {
                     return a.waited_share > b.waited_share;
                   });
}

void Analyst::add_fusion() {
  for (const RankTrace& rank : ranks_) {
    for (const Batch& batch : rank.batches) {
      if (!batch.number) continue;
      ++result_.batches;
      result_.tensors_of_batch += batch.tensors;
      result_.bytes_of_batch += batch.bytes;
      if (batch.tensors == 1) ++result_.single_share;
    }
  }
  const double all = std::max(1.0, result_.batches);
  result_.tensors_of_batch /= all;
  result_.bytes_of_batch /= all;
  result_.single_share /= all;
  result_.batches /= static_cast<double>(ranks_.size());
}

// A batch takes the time since the one before it has ended, on the rank where
// it takes least: the others may have waited within it.
void Analyst::add_planes() {
  struct Points {
    std::unordered_map<std::uint64_t, CostPoint> numbered;
    std::vector<CostPoint> others;
  };
  std::map<std::string, Points> points;
  std::map<std::string, PlaneFacts> facts;
  for (const RankTrace& rank : ranks_) {
    double last = std::numeric_limits<double>::lowest();
    for (const Batch& batch : rank.batches) {
      const double takes = batch.end - std::max(batch.begin, last);
      last = std::max(last, batch.end);
      if (batch.plane < 0 || takes < 0) continue;
      const std::string& name =
          rank.planes[static_cast<std::size_t>(batch.plane)];
      PlaneFacts& plane = facts[name];
      plane.name = name;
      ++plane.batches;
      plane.time_us += takes;
      plane.bytes += batch.bytes;
      const CostPoint point = {batch.bytes, takes};
      if (!batch.number) {
        points[name].others.push_back(point);
        continue;
      }
      CostPoint& least =
          points[name].numbered.try_emplace(*batch.number, point).first->second;
      least.time_us = std::min(least.time_us, takes);
    }
  }
  for (auto& [name, plane] : facts) {
    std::vector<CostPoint> all = std::move(points[name].others);
    for (const auto& [number, point] : points[name].numbered) {
      all.push_back(point);
    }
    plane.cost = fit(medians_of(std::move(all)));
    const auto ranks = static_cast<double>(ranks_.size());
    plane.batches /= ranks;
    plane.time_us /= ranks;
    plane.bytes /= ranks;
    result_.planes.push_back(std::move(plane));
  }
  std::stable_sort(result_.planes.begin(), result_.planes.end(),
                   [](const PlaneFacts& a, const PlaneFacts& b) {
                     return a.time_us > b.time_us;
                   });
}

// The rank whose step the job waits for: the others wait for it, too.
std::size_t Analyst::least_exposed() const {
  const auto least =
      std::min_element(result_.ranks.begin(), result_.ranks.end(),
                       [this](const RankFacts& a, const RankFacts& b) {
                         return of_steps(a.exposed) < of_steps(b.exposed);
                       });
  return static_cast<std::size_t>(least - result_.ranks.begin());
}

// The median step with these factors.
double Analyst::predicted_step(double latency, double bandwidth) const {
  const std::size_t chosen = least_exposed();
  const RankTrace& rank = ranks_[chosen];
  const OfBatches arrivals = of_common_batches(
      ranks_, [](const Batch& batch) { return batch.arrived; });
  std::vector<ReplayedBatch> batches;
  for (const Batch& batch : rank.batches) {
    ReplayedBatch one = {
        .ready = batch.arrived, .begin = batch.begin, .end = batch.end};
    if (batch.number) {
      const auto found = arrivals.find(*batch.number);
      if (found != arrivals.end()) {
        one.ready =
            *std::max_element(found->second.begin(), found->second.end());
      }
    }
    one.ready = std::min(one.ready, one.begin);
    for (const PlaneFacts& plane : result_.planes) {
      if (batch.plane < 0 ||
          plane.name != rank.planes[static_cast<std::size_t>(batch.plane)]) {
        continue;
      }
      const double cost = plane.cost.at(batch.bytes);
      if (cost <= 0) continue;
      one.scale = (plane.cost.alpha_us * latency +
                   plane.cost.beta_us_per_byte * batch.bytes / bandwidth) /
                  cost;
    }
    batches.push_back(one);
  }
  const std::vector<Saving> savings =
      replay(batches, result_.ranks[chosen].exposed);
  std::vector<double> times;
  for (std::size_t i = 1; i < result_.step_begins.size(); ++i) {
    const double begin = result_.step_begins[i - 1];
    const double end = result_.step_begins[i];
    times.push_back(end - begin - saved_until(savings, end) +
                    saved_until(savings, begin));
  }
  return median(std::move(times));
}

void Analyst::add_what_if() {
  if (result_.steps() == 0 || result_.planes.empty()) return;
  const auto has = [this](const auto& test) {
    return std::any_of(
        result_.planes.begin(), result_.planes.end(),
        [&](const PlaneFacts& plane) { return test(plane.cost); });
  };
  if (has([](const CostFit& cost) { return cost.beta_us_per_byte > 0; })) {
    result_.what_if.push_back({"twice the bandwidth", predicted_step(1, 2)});
  }
  if (has([](const CostFit& cost) { return cost.alpha_us > 0; })) {
    result_.what_if.push_back({"half the latency", predicted_step(0.5, 1)});
  }
  const double waits =
      of_steps(result_.ranks[least_exposed()].exposed) / result_.steps();
  result_.what_if.push_back(
      {"no exposed communication", std::max(0.0, result_.step_us - waits)});
}

}  // namespace

Analysis analyze(const std::vector<RankTrace>& ranks) {
  return Analyst(ranks).run();
}

}  // namespace hvd::launcher::report
