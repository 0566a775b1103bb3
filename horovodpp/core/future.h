// A Future<T> is a Status or a T that another thread supplies once, through its
// Promise<T>. Future<void> carries a Status only.
//
//   Promise<int> promise;
//   Future<int> answer = promise.future();
//   std::thread([promise]() mutable { promise.set(42); }).detach();
//   absl::StatusOr<int> value = answer.wait();
//
// Both are handles on shared state: copies are cheap and speak of the same
// result. The first set() stands, later ones are ignored. A promise whose last
// copy dies unset fails its future with Cancelled, so nobody waits for ever. A
// promise may also say that its operation uses memory of whoever holds the
// future (IfDropped::kWait): the end of the last copy then waits for the outcome,
// unless a callback hears of it. So a future that a statement drops turns what
// should have gone on in the background into a wait; compilers warn of it.
// A promise may want to know that somebody waits for it, and use the thread:
//
//   Promise<int> promise([&](const Ready& ready) {
//     while (ready && !ready()) engine.turn();
//   });
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"

namespace hvd {

// What a finished operation has to say: Status if there is no value.
template <typename T>
struct OutcomeOf {
  using type = absl::StatusOr<T>;
};
template <>
struct OutcomeOf<void> {
  using type = absl::Status;
};
template <typename T>
using Outcome = typename OutcomeOf<T>::type;

// Whether the outcome that somebody waits for is there by now; nullptr: who asks
// has other things to do meanwhile.
using Ready = std::function<bool()>;
using OnWait = std::function<void(const Ready&)>;

// What the end of the last future does where the outcome is not there yet and no
// callback hears of it.
enum class IfDropped { kNothing, kWait };

namespace internal {

template <typename T>
class FutureState {
 public:
  using Callback = std::function<void(const Outcome<T>&)>;

  explicit FutureState(OnWait on_wait = nullptr,
                       IfDropped if_dropped = IfDropped::kNothing)
      : if_dropped_(if_dropped), on_wait_(std::move(on_wait)) {}

  void set(Outcome<T> outcome) {
    std::vector<Callback> callbacks;
    OnWait unused;  // Destroyed when the lock is gone.
    {
      MutexLock lock(mutex_);
      if (outcome_.has_value()) return;
      outcome_.emplace(std::move(outcome));
      is_set_.store(true, std::memory_order_release);
      callbacks.swap(callbacks_);
      unused.swap(on_wait_);
    }
    ready_.notify_all();
    // Not under the lock: a callback may submit, wait, or ask this very future.
    for (Callback& callback : callbacks) callback(peek());
  }

  // The promises that can still set it, but for those that are gone: the end of
  // the last one is the outcome of whoever waits.
  void add_promise() { promises_.fetch_add(1, std::memory_order_relaxed); }
  void drop_promise() {
    if (promises_.fetch_sub(1, std::memory_order_acq_rel) > 1 || is_set()) {
      return;
    }
    set(absl::CancelledError(
        "the operation was dropped before it had an outcome"));
  }

  // The futures there are; nobody makes one where there is none any more.
  void add_future() { futures_.fetch_add(1, std::memory_order_relaxed); }
  void drop_future() {
    if (futures_.fetch_sub(1, std::memory_order_acq_rel) > 1 || is_set() ||
        if_dropped_ == IfDropped::kNothing) {
      return;
    }
    {
      MutexLock lock(mutex_);
      if (!callbacks_.empty()) return;
    }
    try {
      announce_wait([this] { return is_set(); });
    } catch (...) {
      // It was help, no more; a destructor that threw would end the process.
    }
    await();
  }

  bool ready() {
    if (is_set()) return true;
    {
      MutexLock lock(mutex_);
      if (outcome_.has_value()) return true;
      if (++polls_ < kPollsOfAWaiter) return false;
    }
    announce_wait(nullptr);
    return false;
  }

  // Blocks. The reference stays valid and unchanged: an outcome is set once.
  const Outcome<T>& wait() {
    announce_wait([this] { return is_set(); });
    return await();
  }

  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    announce_wait(nullptr);
    MutexLock lock(mutex_);
    while (!outcome_.has_value()) {
      if (!ready_.wait_until(mutex_, deadline)) return outcome_.has_value();
    }
    return true;
  }

  void then(Callback callback) {
    {
      MutexLock lock(mutex_);
      if (!outcome_.has_value()) {
        callbacks_.push_back(std::move(callback));
        return;
      }
    }
    callback(peek());
  }

 private:
  bool is_set() const { return is_set_.load(std::memory_order_acquire); }

  const Outcome<T>& peek() {
    MutexLock lock(mutex_);
    return *outcome_;
  }

  const Outcome<T>& await() {
    MutexLock lock(mutex_);
    while (!outcome_.has_value()) ready_.wait(mutex_);
    return *outcome_;
  }

  // Not under the lock: it may set this very outcome.
  void announce_wait(const Ready& ready) {
    OnWait on_wait;
    {
      MutexLock lock(mutex_);
      if (outcome_.has_value() || (!ready && announced_)) return;
      announced_ = true;
      on_wait = ready ? std::exchange(on_wait_, nullptr) : on_wait_;
    }
    if (on_wait) on_wait(ready);
  }

  // Who asks so often in vain is waiting.
  static constexpr int kPollsOfAWaiter = 3;

  std::atomic<bool> is_set_{false};
  std::atomic<int> promises_{0};
  std::atomic<int> futures_{0};
  const IfDropped if_dropped_;
  Mutex mutex_;
  CondVar ready_;
  std::optional<Outcome<T>> outcome_ ABSL_GUARDED_BY(mutex_);
  OnWait on_wait_ ABSL_GUARDED_BY(mutex_);
  bool announced_ ABSL_GUARDED_BY(mutex_) = false;
  int polls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace internal

template <typename T>
class [[nodiscard]] Future {
 public:
  using Callback = std::function<void(const Outcome<T>&)>;

  // A future that is ready from the start.
  static Future ready(Outcome<T> outcome) {
    auto state = std::make_shared<internal::FutureState<T>>();
    state->set(std::move(outcome));
    return Future(std::move(state));
  }

  // A future of nothing: it fails with FailedPrecondition.
  Future()
      : Future(ready(absl::FailedPreconditionError(
            "this future was never connected to an operation"))) {}
  Future(const Future& other) : Future(other.state_) {}
  Future(Future&& other) noexcept = default;
  Future& operator=(Future other) noexcept {
    state_.swap(other.state_);
    return *this;
  }
  ~Future() {
    if (state_) state_->drop_future();
  }

  // Blocks until the outcome is there; callable any number of times. (A value
  // that only moves cannot be waited for but taken, see take().)
  Outcome<T> wait() const { return state_->wait(); }

  // As wait(), but moves the value out: for one caller, once.
  Outcome<T> take() {
    return std::move(const_cast<Outcome<T>&>(state_->wait()));
  }

  // True once the outcome is there; never blocks.
  bool poll() const { return state_->ready(); }

  // As wait(), for at most `patience`: false if the outcome is not there by
  // then.
  bool wait_for(std::chrono::nanoseconds patience) const {
    using std::chrono::steady_clock;
    const auto now = steady_clock::now();
    // The sum of both may be later than there is time.
    const bool for_ever = patience > steady_clock::time_point::max() - now;
    return state_->wait_until(for_ever ? steady_clock::time_point::max()
                                       : now + patience);
  }

  // Runs `callback` with the outcome, once: at once on this thread if it is
  // there already, else on the thread that sets it. It must not throw and not
  // block.
  void then(Callback callback) const { state_->then(std::move(callback)); }

 private:
  template <typename U>
  friend class Promise;
  explicit Future(std::shared_ptr<internal::FutureState<T>> state)
      : state_(std::move(state)) {
    if (state_) state_->add_future();
  }
  std::shared_ptr<internal::FutureState<T>> state_;  // nullptr: moved away.
};

template <typename T>
class Promise {
 public:
  Promise() : Promise(nullptr) {}

  // `on_wait` is called on the waiting thread when somebody begins to wait for an
  // outcome that is not there yet, or has polled for it several times. It may
  // use the thread until `ready`, if it is given that, which is once. It is gone
  // once the outcome is there, unless it is being called.
  explicit Promise(OnWait on_wait, IfDropped if_dropped = IfDropped::kNothing)
      : state_(std::make_shared<internal::FutureState<T>>(std::move(on_wait),
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
  // Whoever waits may destroy this promise as soon as the outcome is there.
  void set(Outcome<T> outcome) const {
    const std::shared_ptr<internal::FutureState<T>> state = state_;
    state->set(std::move(outcome));
  }

 private:
  std::shared_ptr<internal::FutureState<T>> state_;  // nullptr: moved away.
};

}  // namespace hvd
