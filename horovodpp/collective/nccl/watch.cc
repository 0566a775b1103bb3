// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::collective {
namespace {

using std::chrono::steady_clock;

// The pause between two polls of work on the GPU: at first the length of a
// short call.
constexpr std::chrono::microseconds kShortestPause(20);
constexpr std::chrono::microseconds kLongestPause(500);

}  // namespace

absl::Status NcclWatch::adopt(std::shared_ptr<NcclCommunicator> communicator) {
  const MutexLock lock(mutex_);
  if (!thread_.joinable()) {
    HVD_ASSIGN_OR_RETURN(thread_,
                         start_thread("watches NCCL", [this] { run(); }));
  }
  adopted_.push_back(std::move(communicator));
  return absl::OkStatus();
}

void NcclWatch::retire(const std::shared_ptr<NcclCommunicator>& communicator) {
  communicator->drop_graphs();
  const MutexLock lock(mutex_);
  const auto found = std::find(adopted_.begin(), adopted_.end(), communicator);
  if (found == adopted_.end()) return;
  adopted_.erase(found);
  closing_.push_back({communicator});
  changed_.notify_all();
}

void NcclWatch::watch(std::shared_ptr<device::GpuWork> work,
                      std::shared_ptr<NcclCommunicator> by) {
  const MutexLock lock(mutex_);
  works_.push_back({std::move(work), std::move(by)});
  changed_.notify_all();
}

void NcclWatch::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    for (auto& communicator : std::exchange(adopted_, {})) {
      closing_.push_back({std::move(communicator)});
    }
    stopping_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

void NcclWatch::run() {
  id_.store(std::this_thread::get_id());
  auto pause = kShortestPause;
  while (true) {
    const bool moved = look();
    pause = moved ? kShortestPause : std::min(2 * pause, kLongestPause);
    const MutexLock lock(mutex_);
    const bool idle = works_.empty() && closing_.empty();
    if (idle && stopping_) return;
    if (!idle) {
      changed_.wait_until(mutex_, steady_clock::now() + pause);
      continue;
    }
    while (works_.empty() && closing_.empty() && !stopping_) {
      changed_.wait(mutex_);
    }
    pause = kShortestPause;
  }
}

bool NcclWatch::look() {
  bool moved = finish_completed_work();
  if (const auto work = first()) {
    const absl::Status verdict = job_.verdict();
    if (verdict.ok()) {
      check_for_errors(*work);
      check_for_stall(*work);
    } else {
      end_all(verdict);
      moved = true;
    }
  }
  if (moved) job_.ring();
  return close_retired() || moved;
}

std::optional<NcclWatch::Watched> NcclWatch::first() {
  const MutexLock lock(mutex_);
  if (works_.empty()) return std::nullopt;
  return works_.front();
}

// The works end in order, because they are in one stream.
bool NcclWatch::finish_completed_work() {
  bool any = false;
  while (const auto work = first()) {
    const absl::StatusOr<bool> done = work->work->is_done();
    if (done.ok() && !*done) return any;
    // Work that an error has stopped has no result, although its end event has
    // happened.
    const bool failed = !done.ok() || work->by->error() != kNcclSuccess;
    if (failed) {
      if (!done.ok() && !std::exchange(given_up_, true)) {
        job_.give_up(absl::StrCat("cannot go on with its GPU: ",
                                  done.status().message()));
      }
      return any;
    }
    {
      const MutexLock lock(mutex_);
      works_.pop_front();
    }
    work->work->end(absl::OkStatus());
    any = true;
  }
  return any;
}

void NcclWatch::check_for_errors(const Watched& work) {
  const NcclResult error = work.by->error();
  if (error == kNcclSuccess || given_up_) return;
  const absl::Status why = work.by->is_ready().status();
  // The cause is reported by the thread that aborted.
  if (absl::IsAborted(why)) return;
  const auto now = steady_clock::now();
  if (!remote_error_since_) remote_error_since_ = now;
  if (error == kNcclRemoteError &&
      now - *remote_error_since_ < job_.loss_detection_time) {
    return;
  }
  given_up_ = true;
  job_.give_up(
      absl::StrCat("had an error in ", work.work->what(), ": ", why.message()));
}

void NcclWatch::check_for_stall(const Watched& work) {
  const auto now = steady_clock::now();
  if (stalled_ != work.work.get()) {
    stalled_ = work.work.get();
    stalled_since_ = now;
    warned_ = false;
    return;
  }
  const GpuStall stall = {.has_begun = work.work->has_begun().value_or(true),
                          .stalled = now - stalled_since_};
  const bool warns = !warned_ && job_.timeouts.wants_warning(stall);
  const bool ends = !given_up_ && job_.timeouts.is_over(stall);
  if (!warns && !ends) return;
  const std::string what = stall.text(work.work->what());
  warned_ = true;
  if (!ends) return job_.timeouts.warn(absl::StrCat("this rank ", what));
  given_up_ = true;
  job_.give_up(what);
}

void NcclWatch::poll_until(const std::function<bool()>& ready) {
  while (!ready()) {
    look();
    std::this_thread::sleep_for(kShortestPause);
  }
}

// NCCL must not use the memory when its owner learns of the failure. Abort all
// communicators before waiting for any: NCCL may wait for the whole GPU, and so
// for another communicator's work. A callback of one work may wait for the next
// one, and then ends that itself.
void NcclWatch::end_all(const absl::Status& why) {
  std::vector<std::shared_ptr<NcclCommunicator>> used;
  {
    const MutexLock lock(mutex_);
    for (const Watched& work : works_) used.push_back(work.by);
  }
  for (const auto& communicator : used) communicator->abort();
  const auto deadline = steady_clock::now() + NcclCommunicator::kCloseTimeout;
  while (const auto work = first()) {
    {
      const MutexLock lock(mutex_);
      works_.pop_front();
    }
    work->by->abort();
    // If NCCL hangs in the driver, polling may block, too.
    while (work->by->await_end(deadline) &&
           !work->work->is_done().value_or(true) &&
           steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kShortestPause);
    }
    work->work->end(why);
  }
}

bool NcclWatch::close_retired() {
  std::vector<Closing> closing;
  {
    const MutexLock lock(mutex_);
    closing.swap(closing_);
  }
  bool any = false;
  for (Closing& one : closing) {
    if (!has_work(*one.communicator) && close(one)) {
      any = true;
      continue;
    }
    const MutexLock lock(mutex_);
    closing_.push_back(std::move(one));
  }
  return any;
}

bool NcclWatch::has_work(const NcclCommunicator& by) {
  const MutexLock lock(mutex_);
  return std::any_of(works_.begin(), works_.end(), [&](const Watched& watched) {
    return watched.by.get() == &by;
  });
}

// Advances the end of a communicator; returns whether it has ended. Its ranks
// end it together. If one of them does not, the others abort.
bool NcclWatch::close(Closing& closing) const {
  NcclCommunicator& communicator = *closing.communicator;
  const auto now = steady_clock::now();
  if (closing.deadline) {
    return communicator.await_end(now) || now >= *closing.deadline;
  }
  if (!closing.since) closing.since = now;
  const absl::StatusOr<bool> ready = communicator.is_ready();
  if (ready.ok() && *ready) {
    if (closing.is_finalized) {
      communicator.destroy();
      closing.deadline = now + NcclCommunicator::kCloseTimeout;
      return false;
    }
    if (communicator.has_windows()) {
      if (communicator.deregister_windows().ok()) return false;
    } else {
      closing.is_finalized = true;
      if (communicator.finalize().ok()) return false;
    }
  } else if (ready.ok() && now - *closing.since < job_.close_timeout &&
             !job_.is_broken()) {
    return false;
  }
  communicator.abort();
  closing.deadline = now + NcclCommunicator::kCloseTimeout;
  return false;
}

}  // namespace hvd::collective
