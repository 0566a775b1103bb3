// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/signal_queue.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace hvd::launcher {
namespace {

using std::chrono::milliseconds;

// The interval of polling for a parent whose end makes nothing readable.
constexpr milliseconds kParentCheck{500};

int open_queue(const std::vector<int>& signals) {
  const sigset_t set = signal_set(signals);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

}  // namespace

SignalQueue::SignalQueue(const std::vector<int>& signals)
    : fd_(open_queue(signals)) {}

SignalQueue::~SignalQueue() {
  if (fd_ >= 0) close(fd_);
}

std::optional<SignalQueue::Arrival> SignalQueue::next() const {
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return Arrival{.signal = static_cast<int>(info.ssi_signo),
                 .sender = static_cast<pid_t>(info.ssi_pid)};
}

void wait_for_signal(const SignalQueue& signals, const ParentWatch& parent,
                     const SignalWait& wait) {
  milliseconds longest = std::max(wait.longest, milliseconds(0));
  if (parent.fd() < 0) longest = std::min(longest, kParentCheck);
  const int end_of_parent = parent.ended() ? -1 : parent.fd();
  std::vector<pollfd> fds = wait.more;
  for (const int fd : {signals.fd(), end_of_parent, wait.readable}) {
    fds.push_back({fd, POLLIN, 0});
  }
  poll(fds.data(), fds.size(), static_cast<int>(longest.count()));
}

}  // namespace hvd::launcher
