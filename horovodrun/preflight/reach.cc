// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "horovodrun/system/abstract_socket.h"

namespace hvd::launcher {
namespace {

constexpr int kBacklog = 1024;
// A multiple of the time that the hosts took to answer.
constexpr int kRestFactor = 4;

sockaddr_in socket_address(std::uint32_t address, int port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

int open_socket() {
  return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

}  // namespace

Reach::Reach() : id_(random_token()), listener_(open_socket()) {
  if (listener_ < 0) return;
  sockaddr_in address = socket_address(INADDR_ANY, 0);
  socklen_t size = sizeof address;
  if (bind(listener_, generic(address), size) == 0 &&
      listen(listener_, kBacklog) == 0 &&
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) ==
          0) {
    port_ = ntohs(address.sin_port);
  }
}

Reach::~Reach() {
  for (const Attempt& attempt : attempts_) close(attempt.fd);
  if (listener_ >= 0) close(listener_);
}

void Reach::begin(const std::vector<ReachTarget>& targets) {
  targets_ = targets;
  begin_ = Clock::steady().now();
  deadline_ = begin_ + kTimeout;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const int fd = open_socket();
    if (fd < 0) continue;
    const sockaddr_in address =
        socket_address(targets_[i].address, targets_[i].port);
    if (connect(fd, generic(address), sizeof address) != 0 &&
        errno != EINPROGRESS) {
      close(fd);
      continue;
    }
    attempts_.push_back({i, fd});
  }
  advance();
}

void Reach::accept_all() const {
  int fd = -1;
  while ((fd = accept4(listener_, nullptr, nullptr,
                       SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    send(fd, id_.data(), id_.size(), MSG_NOSIGNAL);
    close(fd);
  }
}

// Whether more may come.
bool Reach::read(Attempt& attempt) {
  const std::string& id = targets_[attempt.target].id;
  std::array<char, 64> bytes{};
  ssize_t count = 0;
  while ((count = recv(attempt.fd, bytes.data(), bytes.size(), 0)) > 0) {
    attempt.received.append(bytes.data(), static_cast<std::size_t>(count));
    if (attempt.received.size() > id.size()) return false;
  }
  if (attempt.received == id) {
    reached_.push_back(attempt.target);
    return false;
  }
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

bool Reach::has_reached_all_hosts() const {
  std::set<std::size_t> hosts;
  std::set<std::size_t> reached;
  for (const ReachTarget& target : targets_) hosts.insert(target.host);
  for (const std::size_t target : reached_) {
    reached.insert(targets_[target].host);
  }
  return hosts == reached;
}

void Reach::advance() {
  if (port_ != 0) accept_all();
  if (done_ || deadline_ == Clock::TimePoint::max()) return;
  const std::size_t before = reached_.size();
  std::erase_if(attempts_, [&](Attempt& attempt) {
    if (read(attempt)) return false;
    close(attempt.fd);
    return true;
  });
  const Clock::TimePoint now = Clock::steady().now();
  if (reached_.size() > before && has_reached_all_hosts()) {
    deadline_ = std::min(deadline_, std::max<Clock::TimePoint>(
                                        begin_ + kTimeoutOfRest,
                                        begin_ + kRestFactor * (now - begin_)));
  }
  if (!attempts_.empty() && now < deadline_) return;
  done_ = true;
  for (const Attempt& attempt : attempts_) close(attempt.fd);
  attempts_.clear();
  deadline_ = Clock::TimePoint::max();
}

void Reach::add_awaited(std::vector<pollfd>* fds) const {
  if (port_ != 0) fds->push_back({listener_, POLLIN, 0});
  for (const Attempt& attempt : attempts_) {
    fds->push_back({attempt.fd, POLLIN, 0});
  }
}

}  // namespace hvd::launcher
