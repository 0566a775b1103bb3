// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/progress.h"

#include <algorithm>
#include <utility>

#include "horovodpp/core/thread/interruption.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

constexpr int kAttemptsToDrive = 64;

}  // namespace

Progress::Progress(const LoopParts& parts,
                   std::chrono::nanoseconds heartbeat_deadline)
    : queue_(parts.queue),
      bell_(parts.segment.doorbell(parts.segment.local_rank())),
      waiting_(transport::WaitPolicy::for_node(parts.segment.local_size())),
      job_end_(parts),
      turn_(parts, job_end_, heartbeat_deadline),
      active_at_(steady_clock::now()) {}

absl::Status Progress::run() {
  while (true) {
    std::optional<Sleep> rest;
    {
      MutexLock lock(driving_);
      if (resting_) bell_.leave(Listener::kRester);
      resting_.reset();
      if (end_) return *end_;
      driver_.store(std::this_thread::get_id());
      resting_ = rest = go_on(Listener::kRester);
      driver_.store(std::thread::id());
    }
    // Sleep without the lock, so that a waiting thread can drive meanwhile.
    if (rest) sleep(Listener::kRester, *rest);
  }
}

bool Progress::help(const coordinator::Key& key, const Ready& ready,
                    bool executes) {
  if (is_driven_here() || !try_to_drive()) return false;
  driver_.store(std::this_thread::get_id());
  executes_ = executes;
  if (resting_) bell_.leave(Listener::kRester);
  awaited_ = &ready;
  try {
    drive_until(key, ready);
  } catch (...) {
    end_ = job_end_.break_down_after_throw();
  }
  awaited_ = nullptr;
  executes_ = true;
  bool hand_over = true;
  try {
    hand_over = is_to_hand_over();
  } catch (...) {
    end_ = job_end_.break_down_after_throw();
  }
  driver_.store(std::thread::id());
  driving_.unlock();
  if (hand_over) bell_.ring();
  return true;
}

// The thread of run() keeps sleeping and receives the rings: it drives next.
Quick Progress::try_at_once(const coordinator::SubmissionPtr& submission,
                            const std::function<void()>& begun) {
  if (is_driven_here() || !driving_.try_lock()) return Quick::kNot;
  Quick quick = Quick::kNot;
  if (resting_ && !end_ && !bell_.has_rung_since(resting_->ticket)) {
    try {
      quick = turn_.try_at_once(submission, begun);
    } catch (...) {
      end_ = job_end_.break_down_after_throw();
      bell_.ring();
    }
  }
  driving_.unlock();
  // A call of the same name may have come, which follows this one.
  if (quick == Quick::kDone && queue_.has_changes()) bell_.ring();
  return quick;
}

void Progress::drive_until(const coordinator::Key& key, const Ready& ready) {
  bool announced = false;
  while (!ready() && !end_ && (executes_ || !turn_.has_batch())) {
    const std::optional<Sleep> rest = go_on(Listener::kDriver);
    if (rest) {
      // Other ranks can also make it ready; they ring.
      if (announced && !ready()) sleep(Listener::kDriver, *rest);
      bell_.leave(Listener::kDriver);
    }
    if (announced || ready()) continue;
    // The outcome needs other ranks. Tell them before this thread sleeps,
    // because no other thread does.
    queue_.wait_for(key);
    announced = true;
  }
  // An interrupted thread may wait again, and would then not come here.
  if (!announced && Interruption::here() != nullptr && turn_.is_busy()) {
    queue_.wait_for(key);
  }
}

bool Progress::is_to_hand_over() {
  bool hand_over = false;
  if (resting_) resting_->ticket = bell_.listen(Listener::kRester);
  if (bell_.missed()) hand_over = look_again();
  // Do this last: a thread that finds the bell ringing does not ring again.
  if (resting_) hand_over = queue_.wake_at(turn_.wakes_at()) || hand_over;
  return needs_driver() || hand_over;
}

// Handles rings that passed the resting thread over, most of them for work that
// this thread has done. Returns whether the resting thread has to go on.
bool Progress::look_again() {
  if (end_) return true;
  const absl::StatusOr<bool> more = turn_.move_on_without_batches();
  if (more.ok()) return *more;
  end_ = job_end_.break_down(more.status());
  return true;
}

// Tries a few times: the other driver may be about to finish a turn.
bool Progress::try_to_drive() {
  for (int attempt = 0; attempt < kAttemptsToDrive; ++attempt) {
    if (driving_.try_lock()) return true;
  }
  return false;
}

// Catches exceptions, which would leave the job without a driver or end the
// process.
std::optional<Progress::Sleep> Progress::go_on(Listener as) {
  try {
    return move_on(as);
  } catch (...) {
    end_ = job_end_.break_down_after_throw();
  }
  return std::nullopt;
}

std::optional<Progress::Sleep> Progress::move_on(Listener as) {
  if (turn_.has_ended()) {
    turn_.log_end();
    end_ = job_end_.send_last_messages();
    return std::nullopt;
  }
  std::optional<Sleep> rest;
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved) moved = try_to_sleep(as, rest);
  if (!moved.ok()) {
    end_ = job_end_.break_down(moved.status());
    return std::nullopt;
  }
  has_moved_ = has_moved_ || *moved;
  return rest;
}

absl::StatusOr<bool> Progress::turn() {
  return executes_ ? turn_.move_on(awaited_) : turn_.move_on_without_batches();
}

absl::StatusOr<bool> Progress::try_to_sleep(Listener as,
                                            std::optional<Sleep>& sleep) {
  const bool is_busy = turn_.is_busy();
  const auto now = steady_clock::now();
  if (std::exchange(has_moved_, false)) active_at_ = now;
  const std::int64_t wakes_at = turn_.wakes_at();
  // Do not spin if this rank's program must submit first.
  if (is_busy && wakes_at == 1 && now - active_at_ < waiting_.spin) {
    return false;
  }
  const std::uint32_t ticket = bell_.listen(as);
  // Events before listen() rang no bell: look once more.
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved && !turn_.has_ended()) {
    sleep = {.ticket = ticket,
             .began = now,
             .limit = turn_.sleep_limit(is_busy, now)};
    if (queue_.wake_at(wakes_at)) {
      // A thread submitted under an older threshold, and did not ring.
      sleep.reset();
      moved = true;
    }
  }
  if (!sleep) bell_.leave(as);
  return moved;
}

void Progress::sleep(Listener as, const Sleep& sleep) {
  std::optional<Clock::Duration> limit = sleep.limit;
  if (const Interruption* const mine = Interruption::here()) {
    const Clock::Duration left =
        std::max(Clock::Duration(0), mine->due() - steady_clock::now());
    limit = limit ? std::min(*limit, left) : left;
  }
  bell_.sleep(as, sleep.ticket, limit.value_or(std::chrono::nanoseconds(-1)));
}

bool Progress::needs_driver() const {
  if (end_ || turn_.is_busy() || queue_.has_changes()) return true;
  if (!resting_ || turn_.is_rung_for_all()) return false;
  const auto now = steady_clock::now();
  const std::optional<Clock::Duration> limit = turn_.sleep_limit(false, now);
  if (!limit) return false;
  return !resting_->limit || now + *limit < resting_->began + *resting_->limit;
}

void Progress::leave() {
  turn_.leave();
  bell_.ring();
}

}  // namespace hvd::runtime
