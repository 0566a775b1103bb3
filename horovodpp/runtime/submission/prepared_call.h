// SPDX-License-Identifier: Apache-2.0
// A PreparedCall is what a Prepared is made of: one submission, which is pushed
// again and again, and its outcome of the last time.
//
// For one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/enqueued.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/promise.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class PreparedCall {
 public:
  // `submission` has all but somebody to tell its outcome, and is of `set`. It
  // goes to who is behind `sink`, if there is anybody any more, and so does
  // `sets`.
  PreparedCall(coordinator::SubmissionPtr submission, ProcessSet set,
               SetTable& sets, std::weak_ptr<SubmissionSink> sink);
  ~PreparedCall();
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  // See Prepared.
  void start();
  // start(), for a caller that is about to wait, where this is all there is to do:
  // false, and nothing has happened, where it is not.
  bool start_at_once();
  Status wait();
  Status wait(void* stream);
  bool poll();

 private:
  // What is told the outcome, maybe a little after this has gone.
  struct Outcome {
    enum Stage : std::uint32_t {
      kOver,
      kUnderWay,
      kEnqueued,  // It goes on on a GPU.
    };
    std::atomic<std::uint32_t> stage{kOver};
    Status status{StatusCode::kFailedPrecondition,
                  "nothing was started; call start() before wait()"};
    // Of the last time, on a GPU. Written before the stage says so.
    std::shared_ptr<const Enqueued> work = nullptr;
    void begin();
    void set_enqueued(const std::shared_ptr<const Enqueued>& goes_on);
    void set(const absl::StatusOr<coordinator::Results>& results);
  };

  // Where sets have come or gone since the last time: may it still be?
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
  std::uint64_t admitted_ = 0;  // The state of the sets.
  int polls_ = 0;               // Since the last start.
  const Ready ready_;
  const Ready enqueued_;
};

}  // namespace hvd::runtime
