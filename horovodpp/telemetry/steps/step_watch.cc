// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"

namespace hvd::telemetry {
namespace {

// Of intervals that some ranks have not reported, because they have joined or
// lag behind.
constexpr std::size_t kMostOpen = 4;

Log::Options at_least_info(Log::Options options) {
  options.level = std::min(options.level, LogLevel::kInfo);
  return options;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return absl::StrFormat("%.2f GB", bytes / 1e9);
  if (bytes >= 1e6) return absl::StrFormat("%.2f MB", bytes / 1e6);
  if (bytes >= 1e3) return absl::StrFormat("%.2f kB", bytes / 1e3);
  return absl::StrFormat("%.0f bytes", bytes);
}

// " (0.31 ms loading data)"; "" if no part of the work is known.
std::string parts_of(const StepSummary& summary) {
  std::vector<std::string> parts;
  if (summary.data_ms > 0) {
    parts.push_back(absl::StrFormat("%.2f ms loading data", summary.data_ms));
  }
  if (summary.snapshot_ms > 0) {
    parts.push_back(
        absl::StrFormat("%.2f ms writing snapshots", summary.snapshot_ms));
  }
  if (parts.empty()) return "";
  return absl::StrCat(" (", absl::StrJoin(parts, ", "), ")");
}

std::string cause_of(const StepSummary::Late& late) {
  using Cause = StepSummary::Cause;
  if (late.cause == Cause::kUnknown) return "see what else its host does";
  return absl::StrFormat(
      "it %s for %.2f ms of a step, the others for %.2f ms",
      late.cause == Cause::kData ? "loads data" : "writes snapshots",
      late.cause_ms, late.others_cause_ms);
}

std::string text_of(const StepSummary& summary) {
  return absl::StrFormat(
      "a step takes %.2f ms: %.2f ms of work%s, %.2f ms waiting for "
      "collectives; %.2f ms of collectives behind the work; %s in %.1f batches",
      summary.took_ms, summary.took_ms - summary.waited_ms, parts_of(summary),
      summary.waited_ms, summary.hidden_ms, bytes_text(summary.bytes),
      summary.batches);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepWatch>> StepWatch::start(
    std::shared_ptr<TraceFollower> follower, Options options) {
  std::unique_ptr<StepWatch> watch(
      new StepWatch(std::move(follower), std::move(options)));
  HVD_RETURN_IF_ERROR(watch->follower_->add(*watch));
  return watch;
}

StepWatch::StepWatch(std::shared_ptr<TraceFollower> follower, Options options)
    : options_(std::move(options)),
      log_(options_.rank, at_least_info(options_.log)),
      meter_({.nanoseconds =
                  [this](std::uint64_t ticks) {
                    return follower_->nanoseconds(ticks);
                  },
              .label =
                  [this](std::uint16_t label) {
                    return follower_->name(label).text;
                  },
              .step = [this](const StepTimes& step) { add(step); },
              .job = [this] { present_ = {}; }}),
      follower_(std::move(follower)) {}

StepWatch::~StepWatch() {
  follower_->remove(*this);
  tell(/*all=*/true);
}

void StepWatch::add(const StepTimes& step) {
  present_.add(step);
  if (present_.steps() == options_.steps) send();
}

void StepWatch::finish() {
  follower_->remove(*this);
  if (present_.steps() > 0) send();
}

void StepWatch::send() {
  const std::uint32_t interval = present_.interval;
  if (options_.links) present_.links = links_.links(options_.links());
  options_.send(encode(std::exchange(present_, {.interval = interval + 1})));
}

void StepWatch::receive(int from, std::string_view report) {
  absl::StatusOr<StepReport> decoded = decode_step_report(report);
  if (!decoded.ok()) {
    return log_.warning(absl::StrCat("a report of ", options_.describe(from),
                                     " is lost: ", decoded.status().message()));
  }
  std::erase_if(decoded->links, [this](const BusyLink& link) {
    return link.to >= options_.ranks;
  });
  const std::uint32_t interval = decoded->interval;
  MutexLock lock(mutex_);
  received_[interval].push_back({from, *std::move(decoded)});
}

void StepWatch::tell(bool all) {
  while (true) {
    std::uint32_t interval = 0;
    std::vector<RankReport> reports;
    {
      MutexLock lock(mutex_);
      if (received_.empty()) return;
      const auto first = received_.begin();
      const bool is_complete =
          first->second.size() == static_cast<std::size_t>(options_.ranks);
      if (!is_complete && !all && received_.size() <= kMostOpen) return;
      interval = first->first;
      reports = std::move(first->second);
      received_.erase(first);
    }
    tell(interval, reports);
  }
}

void StepWatch::tell(std::uint32_t interval,
                     const std::vector<RankReport>& reports) {
  const StepSummary summary = summarize(reports);
  // The first step is not measured.
  const std::size_t first = interval * options_.steps + 2;
  std::string line = absl::StrCat(
      "steps ", first, "-", first + summary.steps - 1, ": ", text_of(summary));
  if (summary.last) {
    absl::StrAppend(
        &line, absl::StrFormat(
                   "; the others wait %.2f ms for %s, the last in %d of %d",
                   summary.last->ms, options_.describe(summary.last->rank),
                   summary.last->steps, summary.steps));
  }
  if (reports.size() < static_cast<std::size_t>(options_.ranks)) {
    absl::StrAppend(&line, "; of ", reports.size(), " of ", options_.ranks,
                    " ranks");
  }
  log_.info(line);
  for (const StepSummary::Pause& pause : summary.pauses) {
    log_.warning(absl::StrFormat("in step %d the others waited %.2f s for %s",
                                 first + pause.step, pause.ms / 1e3,
                                 options_.describe(pause.rank)));
  }
  judge(summary);
  judge(slow_link(reports));
}

void StepWatch::judge(const StepSummary& summary) {
  const bool is_any = summary.last && summary.last->is_slow;
  const auto now = is_any ? std::optional(summary.last->rank) : std::nullopt;
  if (now == slow_) return;
  if (slow_) {
    log_.info(absl::StrCat(options_.describe(*slow_), " is no longer slow"));
  }
  slow_ = now;
  if (!now) return;
  log_.warning(absl::StrFormat(
      "%s is slow: the others wait %.2f ms for it in a step of %.2f ms; %s",
      options_.describe(*now), summary.last->ms, summary.took_ms,
      cause_of(*summary.last)));
}

void StepWatch::judge(const std::optional<SlowLink>& link) {
  if (link.has_value() == slow_link_.has_value() &&
      (!link || link->is_same(*slow_link_))) {
    return;
  }
  const auto name = [this](const SlowLink& named) {
    const std::string one = options_.describe(named.rank);
    return named.peer ? absl::StrCat("the connection of ", one, " with ",
                                     options_.describe(*named.peer), " is")
                      : absl::StrCat("the connections of ", one, " are");
  };
  if (slow_link_) log_.info(absl::StrCat(name(*slow_link_), " no longer slow"));
  slow_link_ = link;
  if (!link) return;
  log_.warning(absl::StrCat(name(*link), " slow: at most ",
                            bytes_text(link->bytes_per_ms * 1e3),
                            "/s while busy, of the others ",
                            bytes_text(link->others_bytes_per_ms * 1e3), "/s"));
}

}  // namespace hvd::telemetry
