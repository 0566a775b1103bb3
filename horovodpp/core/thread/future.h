// SPDX-License-Identifier: Apache-2.0
// A Future<T> is a Status or a T that another thread supplies once.
// Future<void> carries a Status only.
//
//   hvd::Future<void> done = hvd::allreduce_async_(grad, {.name = "weight"});
//   ...                                      // other work
//   hvd::Status status = done.wait();        // if OK, grad is the mean
//
// Copies are cheap and share the result. If the operation uses memory of the
// future's owner, the destructor of the last copy waits for the operation,
// unless a callback was added. So discarding a future in a statement turns
// background work into a wait; compilers warn about that.
//
// A future that was never connected to an operation, or was moved from, has
// failed with FailedPrecondition.
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Must come first.

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

template <typename T>
class Promise;  // The supplying side: core/thread/promise.h.

// How a wait with a timeout has ended.
enum class WaitEnd { kReady, kInterrupted, kTimedOut };

namespace internal {

// The state shared by copies of a future; see core/thread/promise.h. Outcomes
// are passed as pointers to Outcome<T>.
class FutureState;
using FutureStatePtr = std::shared_ptr<FutureState>;

struct FutureCallback {
  virtual ~FutureCallback() = default;
  virtual void call(const void* outcome) = 0;
};

void add_future(FutureState& state);
void drop_future(FutureState& state);
const void* wait(FutureState& state);
const void* order(FutureState& state, void* stream, Status& ordered);
bool wait_for(FutureState& state, double seconds);
bool wait_unless(FutureState& state, bool (*ask)(void*), void* context);
WaitEnd wait_within(FutureState& state, double seconds, bool (*ask)(void*),
                    void* context);
Status timed_out(FutureState& state, double seconds);
const void* order_unless(FutureState& state, void* stream, Status& ordered,
                         bool (*ask)(void*), void* context);
bool poll(FutureState& state);
bool was_ready(const FutureState& state);
void then(FutureState& state, std::unique_ptr<FutureCallback> callback);
Status unconnected();

}  // namespace internal

template <typename T>
class [[nodiscard]] Future {
 public:
  // A future that is ready from the start. (In core/thread/promise.h.)
  static Future ready(Outcome<T> outcome);

  Future() = default;
  Future(const Future& other) : Future(other.state_) {}
  Future(Future&& other) noexcept = default;
  Future& operator=(Future other) noexcept {
    state_.swap(other.state_);
    return *this;
  }
  ~Future() {
    if (state_) internal::drop_future(*state_);
  }

  // Blocks until the outcome is available. May be called any number of times.
  // For move-only values use take().
  Outcome<T> wait() const {
    if (!state_) return internal::unconnected();
    return outcome();
  }

  // For results on a GPU: orders later work in `stream` (a cudaStream_t) after
  // the operation. Blocks only until the operation is in a GPU stream, not
  // until it ends; wait() returns how it ended. From then on, use the
  // operation's memory only in that stream. The destructor of the last future
  // then no longer waits.
  Outcome<T> wait(void* stream) const {
    if (!state_) return internal::unconnected();
    Status ordered;
    const void* const outcome = internal::order(*state_, stream, ordered);
    if (!ordered.ok()) return ordered;
    return *static_cast<const Outcome<T>*>(outcome);
  }

  // Like wait(), but moves the value out: for one caller, once.
  Outcome<T> take() {
    if (!state_) return internal::unconnected();
    return std::move(const_cast<Outcome<T>&>(outcome()));
  }

  // Whether the outcome is available; never blocks.
  bool poll() const { return !state_ || internal::poll(*state_); }

  // Whether the future was created with its outcome: a collective refused its
  // arguments, started nothing, and no other rank knows about it.
  bool was_ready() const { return !state_ || internal::was_ready(*state_); }

  // Like wait(), for at most `timeout`, a duration of <chrono> or seconds.
  // Returns false on timeout.
  template <typename Duration>
  bool wait_for(Duration timeout) const {
    return !state_ || internal::wait_for(*state_, seconds_of(timeout));
  }

  // Like wait(), for at most `timeout`: then returns DeadlineExceeded with a
  // text that names the operation and the ranks that it waits for, "Timed out
  // after 0.5 s: …". The operation stays in flight, and may still complete. If
  // this thread executes a collective that it cannot leave within two seconds,
  // the job breaks.
  template <typename Duration>
  Outcome<T> wait_within(Duration timeout) const {
    const double seconds = seconds_of(timeout);
    if (wait_within(seconds, [] { return false; }) == WaitEnd::kTimedOut) {
      return timed_out(seconds);
    }
    return wait();
  }

  // The same with an `interrupted` as of wait_unless(), and the error of a wait
  // that has timed out.
  template <typename F>
  WaitEnd wait_within(double seconds, F interrupted) const {
    if (!state_) return WaitEnd::kReady;
    return internal::wait_within(*state_, seconds, &ask<F>, &interrupted);
  }
  Status timed_out(double seconds) const {
    if (!state_) return internal::unconnected();
    return internal::timed_out(*state_, seconds);
  }

  // Like wait(), but `interrupted` can end the wait. It is called on this
  // thread every 100 ms, first after 100 ms. Returns false once `interrupted`
  // has returned true, else true when the outcome is available. If this thread
  // is executing a collective at that moment, which no other thread can
  // continue, the job breaks and every rank is told. `interrupted` must neither
  // throw nor wait.
  template <typename F>
  bool wait_unless(F interrupted) const {
    return !state_ || internal::wait_unless(*state_, &ask<F>, &interrupted);
  }
  // The same for wait(stream): nullopt once `interrupted` has returned true.
  template <typename F>
  std::optional<Outcome<T>> wait_unless(void* stream, F interrupted) const {
    if (!state_) return internal::unconnected();
    Status ordered;
    const void* const outcome =
        internal::order_unless(*state_, stream, ordered, &ask<F>, &interrupted);
    if (outcome == nullptr) return std::nullopt;
    if (!ordered.ok()) return ordered;
    return *static_cast<const Outcome<T>*>(outcome);
  }

  // Runs `callback` with the outcome, once: immediately on this thread if the
  // outcome is available, else on the thread that sets it. The callback must
  // not throw and not block.
  template <typename F>
  void then(F callback) const {
    if (!state_) {
      callback(Outcome<T>(internal::unconnected()));
      return;
    }
    struct Call : internal::FutureCallback {
      explicit Call(F f) : function(std::move(f)) {}
      void call(const void* outcome) override {
        function(*static_cast<const Outcome<T>*>(outcome));
      }
      F function;
    };
    internal::then(*state_, std::make_unique<Call>(std::move(callback)));
  }

 private:
  friend class Promise<T>;
  template <typename Duration>
  static double seconds_of(Duration timeout) {
    if constexpr (std::is_arithmetic_v<Duration>) {
      return static_cast<double>(timeout);
    } else {
      using Period = typename Duration::period;
      return static_cast<double>(timeout.count()) *
             static_cast<double>(Period::num) /
             static_cast<double>(Period::den);
    }
  }
  template <typename F>
  static bool ask(void* function) {
    return (*static_cast<F*>(function))();
  }
  explicit Future(internal::FutureStatePtr state) : state_(std::move(state)) {
    if (state_) internal::add_future(*state_);
  }
  const Outcome<T>& outcome() const {
    return *static_cast<const Outcome<T>*>(internal::wait(*state_));
  }
  internal::FutureStatePtr state_;  // nullptr: never connected, or moved from.
};

}  // namespace hvd
