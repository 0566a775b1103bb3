// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/promise.h"

#include <chrono>

#include "horovodpp/core/interruption.h"

namespace hvd::internal {

void FutureState::renew(Waiter& waiter, IfDropped if_dropped) {
  MutexLock lock(mutex_);
  if_dropped_.store(if_dropped, std::memory_order_relaxed);
  outcome_ = nullptr;
  waiter_ = &waiter;
  announced_ = false;
  polls_ = 0;
  enqueued_ = nullptr;
  is_enqueued_.store(false, std::memory_order_relaxed);
  is_set_.store(false, std::memory_order_release);
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
  try {
    announce_wait([this] { return is_set(); });
  } catch (...) {
    // It was help, no more; a destructor that threw would end the process.
  }
  await();
}

const void* FutureState::order(void* stream, Status& ordered) {
  const auto is_known = [this] { return is_set() || is_enqueued_.load(); };
  if (!is_known()) announce_wait(is_known);
  std::shared_ptr<const Enqueued> work;
  const void* expected = nullptr;
  {
    MutexLock lock(mutex_);
    while (!is_known()) ready_.wait(mutex_);
    const bool is_captured = enqueued_ != nullptr && enqueued_->is_captured();
    if (is_set() && !is_captured) return outcome_;
    work = enqueued_;
    expected = is_set() ? outcome_ : expected_;
  }
  ordered = work->order(stream);
  // What its memory is used for next comes behind it in that stream.
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
  return await();
}

bool FutureState::wait_for(double seconds) {
  using std::chrono::steady_clock;
  announce_wait(nullptr);
  const auto now = steady_clock::now();
  // The sum of both may be later than there is time.
  const std::chrono::duration<double> patience(seconds);
  const bool for_ever = patience > (steady_clock::time_point::max() - now) / 2;
  const auto deadline =
      for_ever
          ? steady_clock::time_point::max()
          : now + std::chrono::duration_cast<steady_clock::duration>(patience);
  MutexLock lock(mutex_);
  while (!is_set()) {
    if (!ready_.wait_until(mutex_, deadline)) return is_set();
  }
  return true;
}

bool FutureState::wait_unless(bool (*ask)(void*), void* context) {
  if (is_set()) return true;
  Interruption interruption(ask, context);
  announce_wait([&] { return is_set() || interruption.is_due_to_stop(); });
  // Not asked under the lock: the answer may depend on this very future.
  while (!interruption.is_due_to_stop()) {
    MutexLock lock(mutex_);
    while (!is_set() && ready_.wait_until(mutex_, interruption.due())) {
    }
    if (is_set()) return true;
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

const void* FutureState::await() {
  if (is_set()) return outcome_;
  MutexLock lock(mutex_);
  while (!is_set()) ready_.wait(mutex_);
  return outcome_;
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
bool poll(FutureState& state) { return state.poll(); }
void then(FutureState& state, std::unique_ptr<FutureCallback> callback) {
  state.then(std::move(callback));
}

Status unconnected() {
  return Status(StatusCode::kFailedPrecondition,
                "this future was never connected to an operation");
}

}  // namespace hvd::internal
