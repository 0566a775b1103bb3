// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_summary.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "horovodpp/core/median.h"

namespace hvd::telemetry {
namespace {

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// The median over ranks of what `value` says of a report.
template <typename Value>
double over_ranks(std::span<const RankReport> reports, Value value) {
  std::vector<double> values;
  for (const RankReport& one : reports) values.push_back(value(one.report));
  return median(std::move(values));
}

// By how much rank `at` was later in a step than the others.
double lateness(const std::vector<double>& waits, std::size_t at) {
  std::vector<double> others = waits;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  return median(std::move(others)) - waits[at];
}

double per_step(double sum, const StepReport& report) {
  return sum / static_cast<double>(report.steps());
}

// A kind of work that may make a rank late.
struct Work {
  StepSummary::Cause cause{};
  double StepReport::*sum = nullptr;
};
constexpr std::array kWorks = {
    Work{StepSummary::Cause::kData, &StepReport::data_ms},
    Work{StepSummary::Cause::kSnapshot, &StepReport::snapshot_ms}};

// Says of the late rank, reports[at], what it did longer than the others.
void explain(std::span<const RankReport> reports, std::size_t at,
             StepSummary::Late& late) {
  for (const Work& work : kWorks) {
    std::vector<double> others;
    for (const RankReport& one : reports) {
      others.push_back(per_step(one.report.*work.sum, one.report));
    }
    const double mine = others[at];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
    const double usual = median(std::move(others));
    if (mine - usual < kCausePart * late.ms) continue;
    late.cause = work.cause;
    late.cause_ms = mine;
    late.others_cause_ms = usual;
  }
}

// The lateness of each rank in each step.
struct Lateness {
  std::vector<std::vector<double>> of_rank;
  std::vector<std::size_t> times_last;
};

Lateness lateness_of(std::span<const RankReport> reports, std::size_t steps) {
  Lateness found{.of_rank = std::vector<std::vector<double>>(reports.size()),
                 .times_last = std::vector<std::size_t>(reports.size())};
  std::vector<double> waits(reports.size());
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < reports.size(); ++i) {
      waits[i] = reports[i].report.waited[step];
    }
    for (std::size_t i = 0; i < reports.size(); ++i) {
      found.of_rank[i].push_back(lateness(waits, i));
    }
    const auto last = std::min_element(waits.begin(), waits.end());
    ++found.times_last[static_cast<std::size_t>(last - waits.begin())];
  }
  return found;
}

bool is_slow(const std::vector<double>& lateness, double step_ms) {
  const auto late =
      std::count_if(lateness.begin(), lateness.end(),
                    [&](double ms) { return ms > kLatePart * step_ms; });
  return lateness.size() >= kFewestSteps &&
         static_cast<double>(late) >=
             kLateSteps * static_cast<double>(lateness.size());
}

}  // namespace

StepSummary summarize(std::span<const RankReport> reports) {
  StepSummary summary{.steps = reports.front().report.steps()};
  for (const RankReport& one : reports) {
    summary.steps = std::min(summary.steps, one.report.steps());
  }
  summary.took_ms = over_ranks(
      reports, [](const StepReport& report) { return mean(report.took); });
  summary.waited_ms = over_ranks(
      reports, [](const StepReport& report) { return mean(report.waited); });
  summary.hidden_ms = over_ranks(reports, [](const StepReport& report) {
    return per_step(report.hidden_ms, report);
  });
  summary.data_ms = over_ranks(reports, [](const StepReport& report) {
    return per_step(report.data_ms, report);
  });
  summary.snapshot_ms = over_ranks(reports, [](const StepReport& report) {
    return per_step(report.snapshot_ms, report);
  });
  summary.bytes = over_ranks(reports, [](const StepReport& report) {
    return per_step(static_cast<double>(report.bytes), report);
  });
  summary.batches = over_ranks(reports, [](const StepReport& report) {
    return per_step(static_cast<double>(report.batches), report);
  });
  if (reports.size() == 1) return summary;

  const double step_ms = over_ranks(reports, [](const StepReport& report) {
    return median({report.took.begin(), report.took.end()});
  });
  const Lateness late = lateness_of(reports, summary.steps);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const double ms = median(late.of_rank[i]);
    if (ms > (summary.last ? summary.last->ms : 0)) {
      summary.last = {.rank = reports[i].rank,
                      .ms = ms,
                      .steps = late.times_last[i],
                      .is_slow = is_slow(late.of_rank[i], step_ms)};
      explain(reports, i, *summary.last);
    }
    for (std::size_t step = 0; step < summary.steps; ++step) {
      const double pause = late.of_rank[i][step];
      if (pause < kPauseMs || pause < kPauseSteps * step_ms) continue;
      summary.pauses.push_back(
          {.rank = reports[i].rank, .step = step, .ms = pause});
    }
  }
  return summary;
}

}  // namespace hvd::telemetry
