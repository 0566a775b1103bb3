// SPDX-License-Identifier: Apache-2.0
// A SubmissionSink executes submissions: a job, or a test's stand-in for one.
//
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/promise.h"
#include "horovodpp/runtime/execution/quick_plan.h"

namespace hvd::runtime {

class SubmissionSink {
 public:
  virtual ~SubmissionSink() = default;

  // Takes a submission on. Its `done` is called once each time, at once if it
  // cannot be queued.
  virtual void submit(const coordinator::SubmissionPtr& submission) = 0;
  // The same of one that this thread will not wait for, whatever it has said of its
  // own (WaitsAtOnce).
  virtual void submit_for_another(
      const coordinator::SubmissionPtr& submission) {
    submit(submission);
  }

  // Executes `submission`, which is expected and which somebody would wait for at
  // once, on this thread, where it is all there is to do and its peers are there. Its
  // `done` is not called then. Where they are not there yet it has been submitted:
  // `begun` is called before anybody can be done with it.
  virtual Quick try_at_once(const coordinator::SubmissionPtr&,
                            const std::function<void()>& /*begun*/) {
    return Quick::kNot;
  }

  // `submission` will be submitted more than once, until there is no more of it
  // to expect. It is not in flight in either.
  virtual void expect_more(coordinator::Submission&) {}
  virtual void expect_no_more(coordinator::Submission&) {}

  // Somebody blocks until the submission has its outcome. May use the thread
  // until `ready`, unless that is nullptr.
  virtual void wait_for(const coordinator::SubmissionPtr& submission,
                        const Ready& ready) = 0;

  // A callback of a future has thrown, against its contract.
  virtual void callback_threw(const std::string& what) = 0;
};

// What a promise does where somebody waits for the outcome of `submission`. What
// is gone needs no help.
inline OnWait waiter_for(const std::weak_ptr<SubmissionSink>& sink,
                         const coordinator::SubmissionPtr& submission) {
  return [sink, mine = std::weak_ptr(submission)](const Ready& ready) {
    const auto awaited = mine.lock();
    const auto inside = sink.lock();
    if (awaited && inside) inside->wait_for(awaited, ready);
  };
}

}  // namespace hvd::runtime
