// SPDX-License-Identifier: Apache-2.0
// A StepWatch measures a rank's steps, and reports each interval of them to
// rank 0. There it logs a line about each interval, and warns of slow ranks.
//
// It reads the rank's trace on the thread of a TraceFollower: steps wait for
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/steps/link_meter.h"
#include "horovodpp/telemetry/steps/slow_link.h"
#include "horovodpp/telemetry/steps/step_meter.h"
#include "horovodpp/telemetry/steps/step_report.h"
#include "horovodpp/telemetry/steps/step_summary.h"
#include "horovodpp/telemetry/trace/trace_follower.h"

namespace hvd::telemetry {

class StepWatch final : private EventReader {
 public:
  struct Options {
    int rank = 0;
    int ranks = 1;
    std::size_t steps = 100;  // Of an interval.
    Log::Options log = {};
    // "rank 3 (host 'a', pid 4711)".
    std::function<std::string(int rank)> describe;
    // Sends a report to rank 0. Any thread.
    std::function<void(std::string report)> send;
    // The use of this rank's connections to other hosts. Any thread.
    std::function<std::vector<LinkUse>()> links = {};
  };
  // Begins with the next event.
  //   (errors)  the thread cannot be created
  static absl::StatusOr<std::unique_ptr<StepWatch>> start(
      std::shared_ptr<TraceFollower> follower, Options options);
  // Logs what is known of intervals that not all ranks have reported.
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // Measures all events so far.
  void flush() { follower_->flush(); }
  // Does so for the last time, and sends a report of the interval that is not
  // complete.
  void finish();
  // On rank 0: a report of rank `from` has come. Any thread.
  void receive(int from, std::string_view report);

 private:
  StepWatch(std::shared_ptr<TraceFollower> follower, Options options);
  void read(const trace::Event& event, const Operations& operations) override {
    meter_.add(event, operations);
  }
  void missed(std::uint64_t, const Operations&) override { meter_.skip(); }
  void pause() override { tell(/*all=*/false); }

  void add(const StepTimes& step);
  void send();
  void tell(bool all);
  void tell(std::uint32_t interval, const std::vector<RankReport>& reports);
  void judge(const StepSummary& summary);
  void judge(const std::optional<SlowLink>& link);

  const Options options_;
  Log log_;  // Writes informations, whatever the level of the job's log.
  StepMeter meter_;
  StepReport present_;
  LinkMeter links_;
  std::optional<int> slow_;  // The rank that the last warning was about.
  std::optional<SlowLink> slow_link_;  // The same.
  Mutex mutex_;
  // By interval, in order.
  std::map<std::uint32_t, std::vector<RankReport>> received_
      ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<TraceFollower> follower_;
};

}  // namespace hvd::telemetry
