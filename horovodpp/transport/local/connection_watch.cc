// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/connection_watch.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::transport {
namespace {

constexpr std::uint64_t kWake = ~std::uint64_t{0};
constexpr int kEndsAtATime = 16;
// No event tells that the descriptors were closed.
constexpr int kLongestLookMs = 1000;

// A socket and its rank in one word, for epoll.
std::uint64_t packed(const ConnectionWatch::Connection& connection) {
  return std::uint64_t{static_cast<std::uint32_t>(connection.rank)} << 32 |
         static_cast<std::uint32_t>(connection.socket);
}

std::string how_it_ended(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0
             ? "has ended its connection"
             : absl::StrCat("has lost its connection: ", std::strerror(error));
}

}  // namespace

ConnectionWatch::ConnectionWatch(const std::vector<Connection>& connections) {
  if (connections.empty()) return;
  events_ = OwnedDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  const auto add = [this](int descriptor, std::uint32_t events,
                          std::uint64_t data) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = data;
    if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      status_.Update(errno_error("watching a connection"));
    }
  };
  add(wake_.descriptor(), EPOLLIN, kWake);
  for (const Connection& connection : connections) {
    add(connection.socket, EPOLLRDHUP | EPOLLONESHOT, packed(connection));
  }
  if (!status_.ok()) return;
  auto thread = start_thread("watches ranks of other hosts", [this] { run(); });
  status_ = thread.status();
  if (thread.ok()) thread_ = *std::move(thread);
}

ConnectionWatch::~ConnectionWatch() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.wake();
  if (thread_.joinable()) thread_.join();
  if (!wake_.is_there()) events_.abandon();
}

void ConnectionWatch::watch(Callback callback) {
  MutexLock lock(mutex_);
  callback_ = std::move(callback);
  for (Ended& one : ended_) one.told = false;
  wake_.wake();
}

void ConnectionWatch::run() {
  while (wait_for_ends()) {
    MutexLock lock(mutex_);
    if (stopped_) return;
    report();
  }
}

bool ConnectionWatch::wait_for_ends() {
  std::array<epoll_event, kEndsAtATime> events;
  // The program may have closed all descriptors of its process. A PeerWatch
  // reports that.
  if (!wake_.is_there()) return false;
  const int count = ::epoll_wait(events_.number(), events.data(), kEndsAtATime,
                                 kLongestLookMs);
  if (count < 0) return errno == EINTR;
  MutexLock lock(mutex_);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    if (data == kWake) {
      wake_.clear();
      continue;
    }
    ended_.push_back({.rank = static_cast<int>(data >> 32),
                      .how = how_it_ended(
                          static_cast<int>(static_cast<std::uint32_t>(data)))});
  }
  return true;
}

void ConnectionWatch::report() {
  if (callback_ == nullptr) return;
  for (Ended& one : ended_) {
    if (std::exchange(one.told, true)) continue;
    callback_(one.rank, one.how);
  }
}

}  // namespace hvd::transport
