// SPDX-License-Identifier: Apache-2.0
// A SubmissionSink executes submissions: a job, or its replacement in a test.
//
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/thread/interruption.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/quick_plan.h"

namespace hvd::runtime {

class SubmissionSink {
 public:
  virtual ~SubmissionSink() = default;

  // Accepts a submission. Its `done` is called once each time; at once if it
  // cannot be queued.
  virtual void submit(const coordinator::SubmissionPtr& submission) = 0;
  // Accepts a submission that this thread will not wait for, despite a
  // WaitsAtOnce.
  virtual void submit_for_another(
      const coordinator::SubmissionPtr& submission) {
    submit(submission);
  }

  // Executes `submission`, which is expected, on this thread, for a caller that
  // would wait at once. Does so only if there is no other work and the peers
  // are there; its `done` is then not called. If peers are missing, it is
  // submitted, and `begun` is called before any thread can finish it.
  virtual Quick try_at_once(const coordinator::SubmissionPtr&,
                            const std::function<void()>& /*begun*/) {
    return Quick::kNot;
  }

  // Announces that `submission` will be submitted more than once, until
  // expect_no_more(). It is in flight during neither call.
  virtual void expect_more(coordinator::Submission&) {}
  virtual void expect_no_more(coordinator::Submission&) {}

  // A thread blocks until the submission has its outcome. May use this thread
  // until `ready`, unless `ready` is nullptr.
  virtual void wait_for(const coordinator::SubmissionPtr& submission,
                        const Ready& ready) = 0;

  // Says why `submission` is not done, for a caller that has waited too long.
  virtual std::string explain(const coordinator::SubmissionPtr&) { return ""; }

  // A callback of a future has thrown, which its contract forbids.
  virtual void callback_threw(const std::string& what) = 0;
};

// Tells the sink, if that still exists, that this thread waits for
// `submission`. A wait with a deadline can then be explained.
inline void announce_wait(const std::weak_ptr<SubmissionSink>& sink,
                          const coordinator::SubmissionPtr& submission,
                          const Ready& ready) {
  const auto inside = sink.lock();
  if (inside == nullptr) return;
  Interruption* const mine = Interruption::here();
  if (ready && mine != nullptr && mine->has_deadline()) {
    mine->explain = [sink, weak = std::weak_ptr(submission)]() -> std::string {
      const auto awaited = weak.lock();
      const auto there = sink.lock();
      return awaited && there ? there->explain(awaited) : "";
    };
  }
  inside->wait_for(submission, ready);
}

// The wait function of the promise of `submission`: it tells the sink, if that
// still exists.
inline OnWait waiter_for(const std::weak_ptr<SubmissionSink>& sink,
                         const coordinator::SubmissionPtr& submission) {
  return [sink, mine = std::weak_ptr(submission)](const Ready& ready) {
    const auto awaited = mine.lock();
    if (awaited) announce_wait(sink, awaited, ready);
  };
}

}  // namespace hvd::runtime
