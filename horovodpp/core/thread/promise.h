// SPDX-License-Identifier: Apache-2.0
// A Promise<T> is the supplying side of a Future<T>: the thread that does the
// work sets the outcome, once.
//
//   Promise<int> promise;
//   Future<int> answer = promise.future();
//   std::thread([promise]() mutable { promise.set(42); }).detach();
//   StatusOr<int> value = answer.wait();
//
// Copies are cheap and share the result. The first set() stands; later ones are
// ignored. If the last copy is destroyed unset, the future fails with
// Cancelled, so no caller waits forever. IfDropped::kWait says that the
// operation uses memory of the future's owner. A promise can be told that a
// thread waits, and use that thread:
//
//   Promise<int> promise([&](const Ready& ready) {
//     while (ready && !ready()) engine.turn();
//   });
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/enqueued.h"
#include "horovodpp/core/thread/futex_word.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/without_exceptions.h"

namespace hvd {

class Interruption;

// Whether the awaited outcome is available. nullptr: the caller does not block
// and its thread cannot be used.
using Ready = std::function<bool()>;
using OnWait = std::function<void(const Ready&)>;

// The same as an object, for a reusable state.
class Waiter {
 public:
  virtual void wait(const Ready& ready) = 0;

 protected:
  ~Waiter() = default;
};

// Action of the last future's destructor if the outcome is not available and no
// callback was added.
enum class IfDropped { kNothing, kWait };

namespace internal {

// The state without the outcome, whose type only derived classes know.
class FutureState {
 public:
  using Callback = std::unique_ptr<FutureCallback>;

  FutureState(OnWait on_wait, IfDropped if_dropped)
      : if_dropped_(if_dropped), on_wait_(std::move(on_wait)) {}
  FutureState(const FutureState&) = delete;
  FutureState& operator=(const FutureState&) = delete;

  // Resets to a new state. No promise or future refers to it; `waiter` outlives
  // this.
  void renew(Waiter& waiter, IfDropped if_dropped);
  // Whether any future exists. If not, the outcome is never read.
  bool has_futures() const {
    return futures_.load(std::memory_order_acquire) > 0;
  }

  // Counts futures. Once the count has returned to 0 it stays 0.
  void add_future() { futures_.fetch_add(1, std::memory_order_relaxed); }
  void drop_future();

  // Blocks until the outcome is set or the operation continues on a GPU, then
  // orders `stream` after it. Returns the storage of the present or expected
  // outcome.
  const void* order(void* stream, Status& ordered);
  // nullptr if `ask` ended the wait.
  const void* order_unless(void* stream, Status& ordered, bool (*ask)(void*),
                           void* context);

  bool poll();
  // The outcome is set before any future exists.
  void set_from_the_start() { was_ready_ = true; }
  bool was_ready() const { return was_ready_; }
  // Blocks. The outcome stays valid and unchanged: it is set once.
  const void* wait();
  bool wait_for(double seconds);
  bool wait_unless(bool (*ask)(void*), void* context);
  WaitEnd wait_within(double seconds, bool (*ask)(void*), void* context);
  // The error of a wait that has timed out.
  Status timed_out(double seconds);
  void then(Callback callback);

 protected:
  ~FutureState() = default;

  bool is_set() const { return stage_.load() == kSet; }

  // If no outcome is set yet, `store` stores it and returns its address.
  template <typename Store>
  void set_by(const Store& store) {
    std::vector<Callback> callbacks;
    OnWait unused;  // Destroyed after the lock is released.
    {
      MutexLock lock(mutex_);
      if (is_set()) return;
      outcome_ = store();
      stage_.store(kSet);
      callbacks.swap(callbacks_);
      unused.swap(on_wait_);
      waiter_ = nullptr;
    }
    stage_.wake();
    if (!callbacks.empty()) run(callbacks);
  }

  // Like set_by(), for an operation that continues on a GPU, with its expected
  // outcome.
  template <typename Store>
  void set_enqueued_by(std::shared_ptr<const Enqueued> work,
                       const Store& store) {
    {
      MutexLock lock(mutex_);
      if (is_set()) return;
      expected_ = store();
      enqueued_ = std::move(work);
      stage_.store(kEnqueued);
    }
    stage_.wake();
  }

 private:
  // Called without the lock: it may set this very outcome.
  void announce_wait(const Ready& ready);
  void run(const std::vector<Callback>& callbacks) const;
  // Waits until `stage` is reached or the deadline passes; returns whether it
  // was.
  bool await(std::uint32_t stage,
             std::optional<FutexWord::TimePoint> deadline = std::nullopt);
  // The same; false if `ask` ended the wait.
  bool await_unless(std::uint32_t stage, bool (*ask)(void*), void* context);
  bool await_unless(std::uint32_t stage, Interruption& interruption);
  bool can_be_ordered() const { return stage_.load() != kPending; }
  const void* order_now(void* stream, Status& ordered);

  // A caller that has polled this often is treated as waiting.
  static constexpr int kPollsOfAWaiter = 3;

  // The stages of the outcome.
  static constexpr std::uint32_t kPending = 0;
  static constexpr std::uint32_t kEnqueued = 1;  // Continues on a GPU.
  static constexpr std::uint32_t kSet = 2;

  FutexWord stage_;
  std::atomic<int> futures_{0};
  std::atomic<IfDropped> if_dropped_;
  bool was_ready_ = false;  // Written before a future exists.
  Mutex mutex_;
  const void* outcome_ = nullptr;  // Written once, before kSet.
  OnWait on_wait_ ABSL_GUARDED_BY(mutex_);
  // Used instead of on_wait_.
  Waiter* waiter_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<const Enqueued> enqueued_ ABSL_GUARDED_BY(mutex_);
  const void* expected_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Says why the outcome is not available; after a wait with a deadline.
  std::function<std::string()> explain_ ABSL_GUARDED_BY(mutex_);
  bool announced_ ABSL_GUARDED_BY(mutex_) = false;
  int polls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

template <typename T>
class FutureStateOf : public FutureState {
 public:
  using FutureState::FutureState;

  void set(Outcome<T> outcome) {
    set_by([&] { return &outcome_.emplace(std::move(outcome)); });
  }

  void set_enqueued(std::shared_ptr<const Enqueued> work, Outcome<T> expected) {
    set_enqueued_by(std::move(work),
                    [&] { return &expected_.emplace(std::move(expected)); });
  }

  // Counts promises. If the last one is destroyed unset, the future fails.
  void add_promise() { promises_.fetch_add(1, std::memory_order_relaxed); }
  void drop_promise() {
    if (promises_.fetch_sub(1, std::memory_order_acq_rel) > 1 || is_set()) {
      return;
    }
    without_exceptions([&] {
      set(Status(StatusCode::kCancelled,
                 "the operation was dropped before it had an outcome"));
    });
  }

 private:
  std::atomic<int> promises_{0};
  std::optional<Outcome<T>> outcome_;
  std::optional<Outcome<T>> expected_;
};

}  // namespace internal

template <typename T>
class Promise {
 public:
  Promise() : Promise(nullptr) {}

  // `on_wait` is called on the waiting thread when a caller starts to wait for
  // a pending outcome, or has polled several times. If passed `ready`, which
  // happens once, it may use the thread until `ready` returns true. `on_wait`
  // is destroyed once the outcome is set, unless it is running.
  explicit Promise(OnWait on_wait, IfDropped if_dropped = IfDropped::kNothing)
      : state_(std::make_shared<internal::FutureStateOf<T>>(std::move(on_wait),
                                                            if_dropped)) {
    state_->add_promise();
  }
  Promise(const Promise& other) : state_(other.state_) {
    if (state_) state_->add_promise();
  }
  Promise(Promise&& other) noexcept = default;
  Promise& operator=(Promise other) noexcept {
    state_.swap(other.state_);
    return *this;
  }
  ~Promise() {
    if (state_) state_->drop_promise();
  }

  Future<T> future() const { return Future<T>(state_); }
  // A future of a state that is set without a promise.
  static Future<T> future_of(
      std::shared_ptr<internal::FutureStateOf<T>> state) {
    return Future<T>(std::move(state));
  }
  // Once, before set(): the work that continues on a GPU, which streams can be
  // ordered after, and its outcome on success.
  void set_enqueued(std::shared_ptr<const Enqueued> work,
                    Outcome<T> expected) const {
    state_->set_enqueued(std::move(work), std::move(expected));
  }
  // Sets the outcome of an operation that never starts, before a future exists.
  void set_from_the_start(Outcome<T> outcome) const {
    state_->set_from_the_start();
    set(std::move(outcome));
  }
  // The waiting thread may destroy this promise as soon as the outcome is set.
  void set(Outcome<T> outcome) const {
    const auto state = state_;
    state->set(std::move(outcome));
  }

 private:
  std::shared_ptr<internal::FutureStateOf<T>> state_;  // nullptr: moved from.
};

template <typename T>
Future<T> Future<T>::ready(Outcome<T> outcome) {
  Promise<T> promise;
  promise.set_from_the_start(std::move(outcome));
  return promise.future();
}

}  // namespace hvd
