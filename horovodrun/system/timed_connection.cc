// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/timed_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace hvd::launcher {
namespace {

// More bytes in the kernel would take seconds on a slow link.
constexpr int kMaxUnsent = 128 << 10;

}  // namespace

TimedConnection::TimedConnection(int fd,
                                 std::chrono::steady_clock::time_point deadline)
    : fd_(fd), deadline_(deadline) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent,
             sizeof kMaxUnsent);
}

TimedConnection::~TimedConnection() {
  if (fd_ >= 0) close(fd_);
}

bool TimedConnection::ready(short events) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline_ - std::chrono::steady_clock::now());
  pollfd awaited = {fd_, events, 0};
  return left.count() > 0 &&
         poll(&awaited, 1, static_cast<int>(left.count())) > 0;
}

bool TimedConnection::send_all(absl::string_view bytes) const {
  while (!bytes.empty()) {
    if (!ready(POLLOUT)) return false;
    const ssize_t count =
        send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  return true;
}

bool TimedConnection::receive_all(char* bytes, std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    if (!ready(POLLIN)) return false;
    const ssize_t count = recv(fd_, bytes + done, size - done, MSG_DONTWAIT);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count == 0) return false;
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  return true;
}

}  // namespace hvd::launcher
