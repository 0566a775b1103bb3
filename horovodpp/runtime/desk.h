// The Desk is where callers hand submissions in: it gives each its future, and
// tells the job when somebody blocks on one.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/promise.h"
#include "horovodpp/runtime/set_table.h"

namespace hvd::runtime {

class Desk {
 public:
  // What a submission is handed on to.
  struct Counter {
    // Queues it. Its `done` is called once, at once if it cannot be queued.
    std::function<void(coordinator::SubmissionPtr)> submit;
    // Somebody blocks until the submission has its outcome. May use the thread
    // until `ready`, unless that is nullptr.
    std::function<void(const coordinator::SubmissionPtr&, const Ready& ready)>
        wait_for;
    // Something has changed that a `ready` looks at.
    std::function<void()> rouse;
    // A callback of a future has thrown, against its contract.
    std::function<void(const std::string& what)> thrown;
  };

  // `sets` outlives this.
  Desk(SetTable& sets, Counter counter);
  // Futures may live on, and may be waited for.
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // What was built is submitted, or its error is the outcome.
  using Built = absl::StatusOr<coordinator::SubmissionPtr>;

  // With results in the callers' memory, one view for each input.
  Future<void> in_place(Built built, coordinator::Outputs outputs);
  // With results like the inputs, in memory of their own; of one input the
  // first.
  Future<std::vector<Buffer>> into_buffers(Built built);
  Future<Buffer> into_buffer(Built built);

  // `take` makes the outcome of the results.
  template <typename T, typename Take>
  Future<T> submit(Built built, Take take) {
    if (built.ok()) {
      const absl::Status admitted = sets_.admit((*built)->request);
      if (!admitted.ok()) built = admitted;
    }
    if (!built.ok()) return Future<T>::ready(built.status());
    const coordinator::SubmissionPtr& submission = *built;
    const bool borrows =
        !submission->inputs.empty() && submission->keep_alive == nullptr;
    Promise<T> promise(waiter_for(submission),
                       borrows ? IfDropped::kWait : IfDropped::kNothing);
    Future<T> future = promise.future();
    submission->done =
        [promise = std::move(promise), take = std::move(take),
         ended = joiner_of(submission->request), line = line_,
         owner = std::exchange(submission->keep_alive, nullptr)](
            absl::StatusOr<coordinator::Results> outcome) mutable {
          // Goes when the callbacks have run.
          const std::shared_ptr<const void> kept = std::move(owner);
          ended(outcome.ok());
          try {
            promise.set(outcome.ok() ? Outcome<T>(take(*std::move(outcome)))
                                     : Outcome<T>(outcome.status()));
          } catch (const std::exception& e) {
            line->thrown(e.what());
          } catch (...) {
            line->thrown("not a std::exception");
          }
        };
    counter_.submit(*std::move(built));
    return future;
  }

 private:
  // Where futures that outlive the Desk find out that it is gone.
  class Line {
   public:
    explicit Line(const Counter* counter) : counter_(counter) {}
    void wait_for(const coordinator::SubmissionPtr& awaited,
                  const Ready& ready);
    void thrown(const std::string& what);
    // Returns once nobody is at the counter any more.
    void cut();

   private:
    // nullptr: it is cut. Who gets one leaves it.
    const Counter* enter();
    void leave();

    std::atomic<bool> is_cut_{false};  // seq_cst, as doorbells demand.
    Mutex mutex_;
    CondVar left_;
    const Counter* counter_ ABSL_GUARDED_BY(mutex_);
    int inside_ ABSL_GUARDED_BY(mutex_) = 0;
  };

  // Is called when a request is over, and tells the table if that was a join. It
  // may be so after the Desk.
  struct Joiner {
    SetTable* sets;  // nullptr: it was none.
    coordinator::ProcessSetId set;
    void operator()(bool all_have_joined) const;
  };

  OnWait waiter_for(const coordinator::SubmissionPtr& submission) const;
  Joiner joiner_of(const coordinator::Request& request) const;

  SetTable& sets_;
  const Counter counter_;
  const std::shared_ptr<Line> line_;
};

}  // namespace hvd::runtime
