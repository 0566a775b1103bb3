// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/timeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::telemetry {
namespace {

using std::chrono::steady_clock;
using trace::kSlots;

// The pause between two looks: longer while nothing happens. A rank that writes
// a million events a second fills the ring in 16 ms.
constexpr std::chrono::milliseconds kShortestPause(1);
constexpr std::chrono::milliseconds kLongestPause(10);

constexpr char kRank[] = "{rank}";

}  // namespace

absl::StatusOr<std::unique_ptr<Timeline>> Timeline::start(
    std::shared_ptr<trace::Recorder> recorder, const Options& options) {
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<JsonArrayFile> file,
                       JsonArrayFile::create(options.path));
  std::unique_ptr<Timeline> timeline(
      new Timeline(std::move(recorder), options, std::move(file)));
  HVD_RETURN_IF_ERROR(timeline->begin());
  return timeline;
}

Timeline::Timeline(std::shared_ptr<trace::Recorder> recorder,
                   const Options& options, std::unique_ptr<JsonArrayFile> file)
    : recorder_(std::move(recorder)),
      reader_(recorder_->reader()),
      rank_(options.rank),
      log_(options.rank, options.log),
      began_(trace::steady_nanoseconds()),
      file_(std::move(file)),
      lanes_({.mark_cycles = options.mark_cycles,
              .name = [this](std::uint32_t name) { return reader_.name(name); },
              .nanoseconds =
                  [this](std::uint64_t ticks) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                    const std::uint64_t at =
                        trace::nanoseconds_at(ticks, reader_.began(), now_);
                    return at - std::min(at, began_);
                  }}),
      next_(reader_.written()) {
  recorder_->follow();
}

absl::Status Timeline::begin() {
  const auto epoch = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  MutexLock lock(mutex_);
  append(absl::StrCat(
      R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank )",
      rank_, R"(", "start_time_since_epoch_in_micros": )", epoch.count(),
      R"(}},)", "\n",
      R"({"name": "process_sort_index", "ph": "M", "pid": 0, "args": )",
      R"({"sort_index": 0}})"));
  auto thread = start_thread("writes the timeline", [this] { run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

Timeline::~Timeline() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  recorder_->unfollow();
  MutexLock lock(mutex_);
  drain();
  end();
}

void Timeline::flush() {
  MutexLock lock(mutex_);
  drain();
}

void Timeline::run() {
  auto pause = kShortestPause;
  MutexLock lock(mutex_);
  while (!stopped_) {
    pause = drain() ? kShortestPause : std::min(2 * pause, kLongestPause);
    const auto until = steady_clock::now() + pause;
    while (!stopped_ && stop_.wait_until(mutex_, until)) {
    }
  }
}

bool Timeline::drain() {
  now_ = trace::Moment::now(reader_.by_counter());
  const std::uint64_t end = reader_.written();
  const bool is_any = next_ < end;
  while (next_ < end) {
    const std::optional<trace::Event> event = reader_.read(next_);
    if (event) {
      lanes_.add(*event);
      ++next_;
      continue;
    }
    const std::uint64_t written = reader_.written();
    // Its thread is about to write it.
    if (written - next_ < kSlots) break;
    skip_to(written - kSlots / 2);
  }
  append(lanes_.take());
  return is_any;
}

void Timeline::skip_to(std::uint64_t next) {
  lost_ += next - next_;
  next_ = next;
  lanes_.skip();
}

// After an error the file stays as it is.
void Timeline::append(const std::string& elements) {
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
  if (options.rank != 0 && !absl::StrContains(options.path, kRank)) return;
  options.path =
      absl::StrReplaceAll(options.path, {{kRank, absl::StrCat(options.rank)}});
  auto started = Timeline::start(recorder_, options);
  if (started.ok()) {
    timeline_ = *std::move(started);
    return;
  }
  Log(options.rank, options.log)
      .warning(absl::StrCat(
          "cannot write the timeline, so the job continues without it: ",
          started.status().message()));
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
