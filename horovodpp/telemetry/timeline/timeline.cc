// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/timeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/status.h"

namespace hvd::telemetry {
namespace {

constexpr char kRank[] = "{rank}";

// Names the steady clock, which all processes of a host share; "": unknown.
std::string clock_of_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::string space =
      std::filesystem::read_symlink("/proc/self/ns/time", error);
  return boot.empty() ? boot : boot + " " + space;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Timeline>> Timeline::start(
    std::shared_ptr<TraceFollower> follower, const Options& options) {
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<JsonArrayFile> file,
                       JsonArrayFile::create(options.path));
  std::unique_ptr<Timeline> timeline(
      new Timeline(std::move(follower), options, std::move(file)));
  HVD_RETURN_IF_ERROR(timeline->begin());
  return timeline;
}

Timeline::Timeline(std::shared_ptr<TraceFollower> follower,
                   const Options& options, std::unique_ptr<JsonArrayFile> file)
    : rank_(options.rank),
      log_(options.rank, options.log),
      began_(trace::steady_nanoseconds()),
      file_(std::move(file)),
      lanes_(
          {.mark_cycles = options.mark_cycles,
           .name = [this](std::uint32_t name) { return follower_->name(name); },
           .nanoseconds =
               [this](std::uint64_t ticks) {
                 const std::uint64_t at = follower_->nanoseconds(ticks);
                 return at - std::min(at, began_);
               }}),
      follower_(std::move(follower)) {}

absl::Status Timeline::begin() {
  const auto epoch = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  append(absl::StrCat(
      R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank )",
      rank_, R"(", "start_time_since_epoch_in_micros": )", epoch.count(),
      R"(, "start_of_steady_clock_in_nanos": )", began_, R"(, "clock": )",
      json_string(clock_of_host()), R"(}},)", "\n",
      R"({"name": "process_sort_index", "ph": "M", "pid": 0, "args": )",
      R"({"sort_index": 0}})"));
  return follower_->add(*this);
}

Timeline::~Timeline() {
  follower_->remove(*this);
  end();
}

void Timeline::missed(std::uint64_t count, const Operations& operations) {
  lost_ += count;
  lanes_.skip(operations);
}

void Timeline::pause() {
  append(lanes_.text());
  lanes_.clear();
}

// After an error the file stays as it is.
void Timeline::append(std::string_view elements) {
  if (file_ == nullptr) return;
  const absl::Status written = file_->append(elements);
  if (written.ok()) return;
  file_.reset();
  log_.warning(absl::StrCat("the timeline ends here, and the job goes on: ",
                            written.message()));
}

void Timeline::end() {
  append(absl::StrCat(
      R"({"name": "lost_events", "ph": "M", "pid": 0, "args": {"count": )",
      lost_, "}}"));
  if (lost_ == 0 || file_ == nullptr) return;
  log_.warning(
      absl::StrCat("the timeline lacks ", lost_,
                   " events, which came faster than they could be written"));
}

void RankTrace::start_timeline(Timeline::Options options) {
  MutexLock lock(mutex_);
  timeline_.reset();
  const bool is_part =
      options.rank != 0 && !absl::StrContains(options.path, kRank);
  if (is_part && !options.parts) return;
  if (is_part) absl::StrAppend(&options.path, ".rank", kRank);
  options.path =
      absl::StrReplaceAll(options.path, {{kRank, absl::StrCat(options.rank)}});
  auto started = Timeline::start(follower_, options);
  if (started.ok()) {
    timeline_ = *std::move(started);
    return;
  }
  const std::string text = absl::StrCat(
      "cannot write the timeline, so the job continues without it: ",
      started.status().message());
  Log log(options.rank, options.log);
  if (is_part) {
    log.debug(text);
  } else {
    log.warning(text);
  }
}

void RankTrace::stop_timeline() {
  MutexLock lock(mutex_);
  timeline_.reset();
}

void RankTrace::flush() {
  MutexLock lock(mutex_);
  if (timeline_ != nullptr) timeline_->flush();
}

}  // namespace hvd::telemetry
