// SPDX-License-Identifier: Apache-2.0
// A PreparedCall implements a Prepared: one submission that is pushed again and
// again, and its last outcome.
//
// For one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/enqueued.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class PreparedCall {
 public:
  // `submission` is complete but for its callbacks, and belongs to `set`.
  // `sink` and `sets` are used only while the sink exists.
  PreparedCall(coordinator::SubmissionPtr submission, ProcessSet set,
               SetTable& sets, std::weak_ptr<SubmissionSink> sink);
  ~PreparedCall();
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  // See Prepared.
  void start();
  // start(), for a caller that is about to wait. False, without any effect, if
  // there is other work.
  bool start_at_once();
  Status wait();
  Status wait(void* stream);
  bool poll();

 private:
  // Receives the outcome, maybe shortly after the PreparedCall is destroyed.
  struct Outcome {
    enum Stage : std::uint32_t {
      kOver,
      kUnderWay,
      kEnqueued,  // Work goes on on a GPU.
    };
    std::atomic<std::uint32_t> stage{kOver};
    Status status{StatusCode::kFailedPrecondition,
                  "nothing was started; call start() before wait()"};
    // The last run's work on a GPU. Written before `stage` changes.
    std::shared_ptr<const Enqueued> work = nullptr;
    void begin();
    void set_enqueued(const std::shared_ptr<const Enqueued>& goes_on);
    void set(const absl::StatusOr<coordinator::Results>& results);
  };

  // Admits the request again if sets have been added or removed.
  absl::Status admit();
  bool is_under_way() const { return outcome_->stage.load() != Outcome::kOver; }
  bool is_enqueued() const {
    return outcome_->stage.load() != Outcome::kUnderWay;
  }

  const coordinator::SubmissionPtr submission_;
  const ProcessSet set_;
  SetTable& sets_;
  const std::weak_ptr<SubmissionSink> sink_;
  const std::shared_ptr<Outcome> outcome_;
  std::uint64_t admitted_ = 0;  // State of the set table.
  int polls_ = 0;               // Since the last start.
  const Ready ready_;
  const Ready enqueued_;
};

}  // namespace hvd::runtime
