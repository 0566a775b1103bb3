// SPDX-License-Identifier: Apache-2.0
// A Promise<T> is the other side of a Future<T>: whoever does the work supplies
// the outcome, once.
//
//   Promise<int> promise;
//   Future<int> answer = promise.future();
//   std::thread([promise]() mutable { promise.set(42); }).detach();
//   StatusOr<int> value = answer.wait();
//
// Copies are cheap and speak of the same result. The first set() stands, later
// ones are ignored. A promise whose last copy dies unset fails its future with
// Cancelled, so nobody waits for ever. It may also say that its operation uses
// memory of whoever holds the future (IfDropped::kWait), and may want to know
// that somebody waits for it, and use the thread:
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
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/enqueued.h"
#include "horovodpp/core/futex_word.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/without_exceptions.h"

namespace hvd {

// Whether the outcome that somebody waits for is there by now; nullptr: who asks
// has other things to do meanwhile.
using Ready = std::function<bool()>;
using OnWait = std::function<void(const Ready&)>;

// The same as an object, for a state that is used again.
class Waiter {
 public:
  virtual void wait(const Ready& ready) = 0;

 protected:
  ~Waiter() = default;
};

// What the end of the last future does where the outcome is not there yet and no
// callback hears of it.
enum class IfDropped { kNothing, kWait };

namespace internal {

// All of it but the outcome itself, whose type only children know.
class FutureState {
 public:
  using Callback = std::unique_ptr<FutureCallback>;

  FutureState(OnWait on_wait, IfDropped if_dropped)
      : if_dropped_(if_dropped), on_wait_(std::move(on_wait)) {}
  FutureState(const FutureState&) = delete;
  FutureState& operator=(const FutureState&) = delete;

  // As if it were new. Nobody sets it, or has a future of it; `waiter` lives as
  // long as this does.
  void renew(Waiter& waiter, IfDropped if_dropped);
  // Whether there is a future of it. If not, nobody looks at the outcome.
  bool has_futures() const {
    return futures_.load(std::memory_order_acquire) > 0;
  }

  // The futures there are; nobody makes one where there is none any more.
  void add_future() { futures_.fetch_add(1, std::memory_order_relaxed); }
  void drop_future();

  // Blocks until there is an outcome, or the operation goes on on a GPU; then `stream`
  // is put behind it. What it returns is what the outcome lies in, or will.
  const void* order(void* stream, Status& ordered);
  // nullptr where `ask` has ended the wait.
  const void* order_unless(void* stream, Status& ordered, bool (*ask)(void*),
                           void* context);

  bool poll();
  // It is set before there is a future of it.
  void set_from_the_start() { was_ready_ = true; }
  bool was_ready() const { return was_ready_; }
  // Blocks. What the outcome lies in stays valid and unchanged: it is set once.
  const void* wait();
  bool wait_for(double seconds);
  bool wait_unless(bool (*ask)(void*), void* context);
  void then(Callback callback);

 protected:
  ~FutureState() = default;

  bool is_set() const { return stage_.load() == kSet; }

  // Where an outcome can be set still, `store` puts it where outcome() is.
  template <typename Store>
  void set_by(const Store& store) {
    std::vector<Callback> callbacks;
    OnWait unused;  // Destroyed when the lock is gone.
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

  // As set_by(), of an operation that goes on on a GPU and what will come of it.
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
  // Not under the lock: it may set this very outcome.
  void announce_wait(const Ready& ready);
  void run(const std::vector<Callback>& callbacks) const;
  // Until it has come so far, for at most as long: whether it has.
  bool await(std::uint32_t stage,
             std::optional<FutexWord::TimePoint> deadline = std::nullopt);
  // The same; false where `ask` has ended the wait.
  bool await_unless(std::uint32_t stage, bool (*ask)(void*), void* context);
  bool can_be_ordered() const { return stage_.load() != kPending; }
  const void* order_now(void* stream, Status& ordered);

  // Who asks so often in vain is waiting.
  static constexpr int kPollsOfAWaiter = 3;

  // How far it has come.
  static constexpr std::uint32_t kPending = 0;
  static constexpr std::uint32_t kEnqueued = 1;  // On a GPU.
  static constexpr std::uint32_t kSet = 2;

  FutexWord stage_;
  std::atomic<int> futures_{0};
  std::atomic<IfDropped> if_dropped_;
  bool was_ready_ = false;  // Written before there is a future.
  Mutex mutex_;
  const void* outcome_ = nullptr;  // Written once, before kSet.
  OnWait on_wait_ ABSL_GUARDED_BY(mutex_);
  Waiter* waiter_ ABSL_GUARDED_BY(mutex_) = nullptr;  // In its place.
  std::shared_ptr<const Enqueued> enqueued_ ABSL_GUARDED_BY(mutex_);
  const void* expected_ ABSL_GUARDED_BY(mutex_) = nullptr;
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

  // The promises that can still set it, but for those that are gone: the end of
  // the last one is the outcome of whoever waits.
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

  // `on_wait` is called on the waiting thread when somebody begins to wait for an
  // outcome that is not there yet, or has polled for it several times. It may
  // use the thread until `ready`, if it is given that, which is once. It is gone
  // once the outcome is there, unless it is being called.
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
  // Of a state that somebody sets without a promise.
  static Future<T> future_of(
      std::shared_ptr<internal::FutureStateOf<T>> state) {
    return Future<T>(std::move(state));
  }
  // Once, before set(): what goes on on a GPU, which streams can be put behind, and the
  // outcome if that ends well.
  void set_enqueued(std::shared_ptr<const Enqueued> work,
                    Outcome<T> expected) const {
    state_->set_enqueued(std::move(work), std::move(expected));
  }
  // The outcome of what is not begun, before there is a future.
  void set_from_the_start(Outcome<T> outcome) const {
    state_->set_from_the_start();
    set(std::move(outcome));
  }
  // Whoever waits may destroy this promise as soon as the outcome is there.
  void set(Outcome<T> outcome) const {
    const auto state = state_;
    state->set(std::move(outcome));
  }

 private:
  std::shared_ptr<internal::FutureStateOf<T>> state_;  // nullptr: moved away.
};

template <typename T>
Future<T> Future<T>::ready(Outcome<T> outcome) {
  Promise<T> promise;
  promise.set_from_the_start(std::move(outcome));
  return promise.future();
}

}  // namespace hvd
