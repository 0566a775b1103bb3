// The Desk is where callers hand submissions in: it gives each its future, and
// tells the job when somebody blocks on one.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/runtime/set_table.h"

namespace hvd::runtime {

class Desk {
 public:
  // What a submission is handed on to.
  struct Counter {
    // Queues it. Its `done` is called once, at once if it cannot be queued.
    std::function<void(coordinator::Submission)> submit;
    // Somebody blocks until the submission of this key has its outcome. May use
    // the thread until `ready`, unless that is nullptr.
    std::function<void(const coordinator::Key&, const Ready& ready)> wait_for;
  };

  // `sets` outlives this.
  Desk(SetTable& sets, Counter counter);
  // Futures may live on, and may be waited for.
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // What was built is submitted, or its error is the outcome.
  using Built = absl::StatusOr<coordinator::Submission>;

  // With results in the callers' memory, one view for each input.
  Future<void> in_place(Built built, std::vector<TensorView> outputs);
  // With results like the inputs, in memory of their own; of one input the
  // first.
  Future<std::vector<Buffer>> into_buffers(Built built);
  Future<Buffer> into_buffer(Built built);

  // `take` makes the outcome of the results.
  template <typename T>
  Future<T> submit(Built built,
                   std::function<Outcome<T>(coordinator::Results)> take) {
    if (built.ok()) {
      const absl::Status admitted = sets_.admit(built->request);
      if (!admitted.ok()) built = admitted;
    }
    if (!built.ok()) return Future<T>::ready(built.status());
    Promise<T> promise(waiter_for(built->request.key));
    built->done = [promise, take = std::move(take),
                   ended = joiner_of(built->request)](
                      absl::StatusOr<coordinator::Results> outcome) {
      if (ended) ended(outcome.ok());
      promise.set(outcome.ok() ? take(*std::move(outcome))
                               : Outcome<T>(outcome.status()));
    };
    counter_.submit(*std::move(built));
    return promise.future();
  }

 private:
  // Where futures that outlive the Desk find out that it is gone.
  class Line {
   public:
    explicit Line(const Counter* counter) : counter_(counter) {}
    void wait_for(const coordinator::Key& key, const Ready& ready);
    // Returns once nobody is at the counter any more.
    void cut();

   private:
    std::atomic<bool> is_cut_{false};
    Mutex mutex_;
    CondVar left_;
    const Counter* counter_ ABSL_GUARDED_BY(mutex_);
    int inside_ ABSL_GUARDED_BY(mutex_) = 0;
  };

  OnWait waiter_for(const coordinator::Key& key) const;
  // What is to be called when a join is over, with whether it succeeded; nothing
  // for other requests.
  std::function<void(bool)> joiner_of(const coordinator::Request& request);

  SetTable& sets_;
  const Counter counter_;
  const std::shared_ptr<Line> line_;
};

}  // namespace hvd::runtime
