// SPDX-License-Identifier: Apache-2.0
// A Future<T> is a Status or a T that another thread supplies once. Future<void>
// carries a Status only.
//
//   hvd::Future<void> done = hvd::allreduce_async_(grad, {.name = "fc1.weight"});
//   ...                                      // meanwhile other things
//   hvd::Status status = done.wait();        // if OK, grad is the mean
//
// Copies are cheap and speak of the same result. An operation that uses memory
// of whoever holds the future is waited for by the end of the last copy, unless a
// callback hears of it. So a future that a statement drops turns what should have
// gone on in the background into a wait; compilers warn of it.
//
// One that was never connected to an operation, or was moved away, has failed
// with FailedPrecondition.
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

template <typename T>
class Promise;  // Of the side that supplies: core/promise.h.

namespace internal {

// What copies of a future share; see core/promise.h. Outcomes go through as
// pointers to Outcome<T>.
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
  // A future that is ready from the start. (In core/promise.h.)
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

  // Blocks until the outcome is there; callable any number of times. (A value
  // that only moves cannot be waited for but taken, see take().)
  Outcome<T> wait() const {
    if (!state_) return internal::unconnected();
    return outcome();
  }

  // For results on a GPU: what is put into `stream` (a cudaStream_t) from now on
  // comes after them. Blocks until the operation is in a stream of the GPU, and not
  // until it has ended; how that went, wait() tells. From then on whatever uses the
  // operation's memory belongs into that stream, and the end of the last future waits
  // for nothing.
  Outcome<T> wait(void* stream) const {
    if (!state_) return internal::unconnected();
    Status ordered;
    const void* const outcome = internal::order(*state_, stream, ordered);
    if (!ordered.ok()) return ordered;
    return *static_cast<const Outcome<T>*>(outcome);
  }

  // As wait(), but moves the value out: for one caller, once.
  Outcome<T> take() {
    if (!state_) return internal::unconnected();
    return std::move(const_cast<Outcome<T>&>(outcome()));
  }

  // True once the outcome is there; never blocks.
  bool poll() const { return !state_ || internal::poll(*state_); }

  // Whether it was made with its outcome: where a collective refuses its arguments,
  // nothing has begun, and no other rank knows of it.
  bool was_ready() const { return !state_ || internal::was_ready(*state_); }

  // As wait(), for at most `patience`, a duration of <chrono> or seconds: false
  // if the outcome is not there by then.
  template <typename Duration>
  bool wait_for(Duration patience) const {
    double seconds = 0;
    if constexpr (std::is_arithmetic_v<Duration>) {
      seconds = static_cast<double>(patience);
    } else {
      using Period = typename Duration::period;
      seconds = static_cast<double>(patience.count()) *
                static_cast<double>(Period::num) /
                static_cast<double>(Period::den);
    }
    return !state_ || internal::wait_for(*state_, seconds);
  }

  // As wait(), but for a wait that something else can end: `interrupted` is called
  // on this thread after 100 ms, and as often from then on. False once it has
  // returned true; else true, when the outcome is there. If this thread executes a
  // collective at that moment, which no other thread can continue, the job breaks,
  // and every rank is told. `interrupted` must neither throw nor wait.
  template <typename F>
  bool wait_unless(F interrupted) const {
    return !state_ || internal::wait_unless(*state_, &ask<F>, &interrupted);
  }
  // The same of wait(stream): nullopt once `interrupted` has returned true.
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

  // Runs `callback` with the outcome, once: at once on this thread if it is
  // there already, else on the thread that sets it. It must not throw and not
  // block.
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
  internal::FutureStatePtr state_;  // nullptr: never connected, or moved away.
};

}  // namespace hvd
