// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/peer_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/process_stat.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::transport {

namespace {

bool says_ended(const std::string& text) {
  const std::optional<ProcessStat> stat = parse_process_stat(text);
  return stat && !stat->is_alive();
}

}  // namespace

WatchedProcess WatchedProcess::open(std::int64_t pid) {
  const long descriptor =
      ::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u);
  if (descriptor >= 0) return {Way::kPidfd, static_cast<int>(descriptor)};
  if (errno == ESRCH) return {Way::kEnded, -1};
  return open_for_polling(pid);
}

// The open file stays bound to that process (kernel: fs/proc/base.c).
WatchedProcess WatchedProcess::open_for_polling(std::int64_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return {Way::kPolled, file};
  const bool is_gone =
      ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
  return {is_gone ? Way::kEnded : Way::kNone, -1};
}

WatchedProcess::Way WatchedProcess::way() const {
  return way_ == Way::kEnded || descriptor_.is_there() ? way_ : Way::kNone;
}

bool WatchedProcess::has_ended() const {
  const Way way = this->way();
  if (way == Way::kEnded) return true;
  if (way == Way::kPidfd) {
    pollfd polled = {.fd = descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }
  if (way == Way::kNone) return false;
  std::array<char, 512> text = {};
  const ssize_t count = ::pread(descriptor(), text.data(), text.size(), 0);
  if (count < 0) return errno == ESRCH;
  return says_ended(std::string(text.data(), static_cast<std::size_t>(count)));
}

namespace {

using Way = WatchedProcess::Way;

constexpr int kLookMs = 50;

constexpr int kLookAtDescriptorsMs = 1000;

// A rank that leaves the job right after it has closed its descriptors needs
// none on one node.
constexpr std::chrono::milliseconds kTimeToLeave(1000);

}  // namespace

PeerWatch::PeerWatch(const std::vector<Process>& processes, const Open& open,
                     std::optional<int> self)
    : self_(self) {
  if (!wake_.is_open()) {
    status_ = errno_error("pipe");
    return;
  }
  for (const Process& process : processes) {
    Watched watched = {.rank = process.rank, .process = open(process.pid)};
    if (watched.process.way() == Way::kNone) {
      unwatchable_.push_back(process.rank);
      continue;
    }
    polls_ = polls_ || watched.process.way() == Way::kPolled;
    watched_ranks_.push_back(process.rank);
    MutexLock lock(mutex_);
    watched_.push_back(std::move(watched));
  }
  if (watched_ranks_.empty() && !self_) return;
  auto thread = start_thread("watches the other ranks", [this] { run(); });
  status_ = thread.status();
  if (thread.ok()) thread_ = *std::move(thread);
}

PeerWatch::~PeerWatch() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.wake();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (wake_.is_there()) return;
  MutexLock lock(mutex_);
  for (Watched& watched : watched_) watched.process.abandon();
}

bool PeerWatch::sees(int rank) const {
  return status_.ok() && std::find(watched_ranks_.begin(), watched_ranks_.end(),
                                   rank) != watched_ranks_.end();
}

std::string PeerWatch::caveat() const {
  if (!unwatchable_.empty()) {
    return absl::StrCat(
        "this rank cannot see when ranks of its host end: ",
        absl::StrJoin(unwatchable_, ", "),
        "; it needs pidfd_open (Linux 5.3) or /proc, and descriptors (ulimit "
        "-n)");
  }
  if (!polls_) return "";
  return absl::StrCat(
      "this system does not tell when a process ends (pidfd_open, Linux 5.3, "
      "which sandboxes may forbid); ranks look after each other every ",
      kLookMs, " ms instead");
}

void PeerWatch::watch(Callback callback) {
  {
    MutexLock lock(mutex_);
    callback_ = std::move(callback);
    for (Watched& watched : watched_) watched.notified = false;
    self_notified_ = false;
  }
  wake_.wake();
  changed_.notify_all();
}

// Calls the callback for all processes that have ended.
void PeerWatch::look() {
  if (!callback_) return;
  for (Watched& watched : watched_) {
    watched.ended = watched.ended || watched.process.has_ended();
    if (!watched.ended || watched.notified) continue;
    callback_(watched.rank, kEndedEarly);
    watched.notified = true;
  }
}

void PeerWatch::run() {
  bool goes_on = true;
  while (goes_on) {
    try {
      goes_on = wake_.is_there() ? poll_and_sleep() : report_self_and_sleep();
    } catch (const std::bad_alloc&) {
      // Memory may be available again at the next attempt.
      std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
    }
  }
}

bool PeerWatch::report_self_and_sleep() {
  MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!closed_at_) closed_at_ = now;
  if (!stopped_ && now < *closed_at_ + kTimeToLeave) {
    changed_.wait_until(mutex_, *closed_at_ + kTimeToLeave);
    return !stopped_;
  }
  if (callback_ && self_ && !self_notified_) {
    callback_(*self_, kClosedDescriptors);
    self_notified_ = true;
  }
  if (!stopped_) changed_.wait(mutex_);
  return !stopped_;
}

bool PeerWatch::poll_and_sleep() {
  std::vector<pollfd> polled = {
      {.fd = wake_.descriptor(), .events = POLLIN, .revents = 0}};
  int timeout = kLookAtDescriptorsMs;
  {
    MutexLock lock(mutex_);
    if (stopped_) return false;
    look();
    for (const Watched& watched : watched_) {
      if (watched.process.way() != Way::kPidfd || watched.ended) continue;
      polled.push_back(
          {.fd = watched.process.descriptor(), .events = POLLIN, .revents = 0});
    }
    if (callback_ && polls_) timeout = kLookMs;
    if (!callback_) polled.resize(1);
  }
  if (::poll(polled.data(), polled.size(), timeout) < 0) return errno == EINTR;
  if ((polled.front().revents & POLLIN) != 0) wake_.clear();
  return true;
}

}  // namespace hvd::transport
