// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/promise.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "horovodpp/core/thread/interruption.h"
#include "horovodpp/core/thread/without_exceptions.h"

namespace hvd::internal {
namespace {

// The latest time, where the sum would overflow the clock's range.
std::chrono::steady_clock::time_point deadline_of(double seconds) {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now();
  const std::chrono::duration<double> timeout(seconds);
  if (timeout > (steady_clock::time_point::max() - now) / 2) {
    return steady_clock::time_point::max();
  }
  return now + std::chrono::duration_cast<steady_clock::duration>(timeout);
}

}  // namespace

void FutureState::renew(Waiter& waiter, IfDropped if_dropped) {
  MutexLock lock(mutex_);
  if_dropped_.store(if_dropped, std::memory_order_relaxed);
  outcome_ = nullptr;
  waiter_ = &waiter;
  announced_ = false;
  polls_ = 0;
  enqueued_ = nullptr;
  explain_ = nullptr;
  stage_.store(kPending);
}

void FutureState::drop_future() {
  if (futures_.fetch_sub(1, std::memory_order_acq_rel) > 1 || is_set() ||
      if_dropped_.load(std::memory_order_relaxed) == IfDropped::kNothing) {
    return;
  }
  {
    MutexLock lock(mutex_);
    if (!callbacks_.empty()) return;
  }
  // Optional help: its exceptions do not matter.
  without_exceptions([&] { announce_wait([this] { return is_set(); }); });
  await(kSet);
}

const void* FutureState::order(void* stream, Status& ordered) {
  const auto is_known = [this] { return can_be_ordered(); };
  if (!is_known()) announce_wait(is_known);
  await(kEnqueued);
  return order_now(stream, ordered);
}

const void* FutureState::order_unless(void* stream, Status& ordered,
                                      bool (*ask)(void*), void* context) {
  if (!await_unless(kEnqueued, ask, context)) return nullptr;
  return order_now(stream, ordered);
}

const void* FutureState::order_now(void* stream, Status& ordered) {
  std::shared_ptr<const Enqueued> work;
  const void* expected = nullptr;
  {
    MutexLock lock(mutex_);
    const bool is_captured = enqueued_ != nullptr && enqueued_->is_captured();
    if (is_set() && !is_captured) return outcome_;
    work = enqueued_;
    expected = is_set() ? outcome_ : expected_;
  }
  ordered = work->order(stream);
  // Later use of the memory is ordered by that stream.
  if (ordered.ok()) {
    if_dropped_.store(IfDropped::kNothing, std::memory_order_relaxed);
  }
  return expected;
}

bool FutureState::poll() {
  if (is_set()) return true;
  {
    MutexLock lock(mutex_);
    if (is_set()) return true;
    if (++polls_ < kPollsOfAWaiter) return false;
  }
  announce_wait(nullptr);
  return false;
}

const void* FutureState::wait() {
  if (is_set()) return outcome_;
  announce_wait([this] { return is_set(); });
  await(kSet);
  return outcome_;
}

bool FutureState::wait_for(double seconds) {
  announce_wait(nullptr);
  const auto deadline = deadline_of(seconds);
  if (deadline == FutexWord::TimePoint::max()) return await(kSet);
  return await(kSet, deadline);
}

bool FutureState::wait_unless(bool (*ask)(void*), void* context) {
  return await_unless(kSet, ask, context);
}

WaitEnd FutureState::wait_within(double seconds, bool (*ask)(void*),
                                 void* context) {
  if (is_set()) return WaitEnd::kReady;
  Interruption interruption(ask, context, deadline_of(seconds));
  const bool is_ready = await_unless(kSet, interruption);
  if (interruption.explain) {
    MutexLock lock(mutex_);
    explain_ = std::move(interruption.explain);
  }
  if (is_ready) return WaitEnd::kReady;
  return interruption.has_timed_out() ? WaitEnd::kTimedOut
                                      : WaitEnd::kInterrupted;
}

Status FutureState::timed_out(double seconds) {
  std::function<std::string()> explain;
  {
    MutexLock lock(mutex_);
    explain = explain_;
  }
  std::string why = explain ? explain() : "";
  if (why.empty()) why = "the operation is not done";
  char time[32];
  std::snprintf(time, sizeof(time), "%g", seconds);
  return Status(StatusCode::kDeadlineExceeded,
                std::string("Timed out after ") + time + " s: " + why);
}

bool FutureState::await_unless(std::uint32_t stage, bool (*ask)(void*),
                               void* context) {
  if (stage_.load() >= stage) return true;
  Interruption interruption(ask, context);
  return await_unless(stage, interruption);
}

bool FutureState::await_unless(std::uint32_t stage,
                               Interruption& interruption) {
  const auto is_known = [&] { return stage_.load() >= stage; };
  announce_wait([&] { return is_known() || interruption.is_due_to_stop(); });
  // Called without the lock: the answer may depend on this very future.
  while (!interruption.is_due_to_stop()) {
    if (await(stage, interruption.due())) return true;
  }
  return false;
}

void FutureState::then(Callback callback) {
  {
    MutexLock lock(mutex_);
    if (!is_set()) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback->call(outcome_);
}

bool FutureState::await(std::uint32_t stage,
                        std::optional<FutexWord::TimePoint> deadline) {
  while (true) {
    const std::uint32_t now = stage_.load();
    if (now >= stage) return true;
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return false;
    stage_.sleep(now, deadline);
  }
}

// Called without the lock: a callback may submit, wait, or query this very
// future.
void FutureState::run(const std::vector<Callback>& callbacks) const {
  WakeTogether::flush();
  std::exception_ptr first;
  for (const Callback& callback : callbacks) {
    try {
      callback->call(outcome_);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void FutureState::announce_wait(const Ready& ready) {
  OnWait on_wait;
  Waiter* waiter = nullptr;
  {
    MutexLock lock(mutex_);
    if (is_set() || (!ready && announced_)) return;
    announced_ = true;
    waiter = ready ? std::exchange(waiter_, nullptr) : waiter_;
    if (waiter == nullptr) {
      on_wait = ready ? std::exchange(on_wait_, nullptr) : on_wait_;
    }
  }
  if (waiter != nullptr) return waiter->wait(ready);
  if (on_wait) on_wait(ready);
}

void add_future(FutureState& state) { state.add_future(); }
void drop_future(FutureState& state) { state.drop_future(); }
const void* wait(FutureState& state) { return state.wait(); }
const void* order(FutureState& state, void* stream, Status& ordered) {
  return state.order(stream, ordered);
}
bool wait_for(FutureState& state, double seconds) {
  return state.wait_for(seconds);
}
bool wait_unless(FutureState& state, bool (*ask)(void*), void* context) {
  return state.wait_unless(ask, context);
}
const void* order_unless(FutureState& state, void* stream, Status& ordered,
                         bool (*ask)(void*), void* context) {
  return state.order_unless(stream, ordered, ask, context);
}
WaitEnd wait_within(FutureState& state, double seconds, bool (*ask)(void*),
                    void* context) {
  return state.wait_within(seconds, ask, context);
}
Status timed_out(FutureState& state, double seconds) {
  return state.timed_out(seconds);
}
bool poll(FutureState& state) { return state.poll(); }
bool was_ready(const FutureState& state) { return state.was_ready(); }
void then(FutureState& state, std::unique_ptr<FutureCallback> callback) {
  state.then(std::move(callback));
}

Status unconnected() {
  return Status(StatusCode::kFailedPrecondition,
                "this future was never connected to an operation");
}

}  // namespace hvd::internal
