#include "horovodpp/transport/peer_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace hvd::transport {
namespace {

// Signals are for the program's own threads.
std::thread thread_without_signals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

PeerWatch::PeerWatch(const std::vector<Process>& processes)
    : stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (stop_ < 0) return;  // A watch that could not be stopped sees nothing.
  for (const Process& process : processes) {
    const long descriptor =
        ::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0u);
    if (descriptor >= 0) {
      watched_.push_back(
          {.rank = process.rank, .descriptor = static_cast<int>(descriptor)});
    } else if (errno == ESRCH) {
      watched_.push_back({.rank = process.rank, .descriptor = kGone});
    }
  }
}

PeerWatch::~PeerWatch() {
  watch({});
  if (stop_ >= 0) ::close(stop_);
  for (const Watched& watched : watched_) {
    if (watched.descriptor != kGone) ::close(watched.descriptor);
  }
}

bool PeerWatch::sees(int rank) const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [&](const Watched& w) { return w.rank == rank; });
}

void PeerWatch::watch(Callback callback) {
  if (thread_.joinable()) {
    eventfd_t value = 1;
    ::eventfd_write(stop_, value);
    thread_.join();
    ::eventfd_read(stop_, &value);
  }
  if (!callback || watched_.empty()) return;
  thread_ = thread_without_signals(
      [this, callback = std::move(callback)] { run(callback); });
}

void PeerWatch::run(const Callback& callback) const {
  const auto tell = [&](int rank) {
    callback(rank, "ended without leaving the job");
  };
  std::vector<int> ranks;
  std::vector<pollfd> polled = {{.fd = stop_, .events = POLLIN, .revents = 0}};
  for (const Watched& watched : watched_) {
    if (watched.descriptor == kGone) {
      tell(watched.rank);
      continue;
    }
    ranks.push_back(watched.rank);
    polled.push_back(
        {.fd = watched.descriptor, .events = POLLIN, .revents = 0});
  }
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (polled[0].revents != 0) return;
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      polled[i].fd = -1;  // poll() passes over it from now on.
      tell(ranks[i - 1]);
    }
  }
}

}  // namespace hvd::transport
