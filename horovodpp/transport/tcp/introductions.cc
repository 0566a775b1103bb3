// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/introductions.h"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::transport {

Introductions::Introductions(const JobKey& key, std::size_t most)
    : key_(key), most_(most), events_(::epoll_create1(EPOLL_CLOEXEC)) {}

absl::Status Introductions::add(OwnedDescriptor socket, Handshake::Side side,
                                const Caller& mine, int tag) {
  // Edges only: a socket that connects is not writable before, and always is
  // afterwards.
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.u64 = next_;
  if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, socket.number(), &event) !=
      0) {
    return errno_error("epoll_ctl");
  }
  connections_.emplace(next_++, Connection{.tag = tag,
                                           .socket = std::move(socket),
                                           .handshake = {key_, side, mine}});
  if (connections_.size() > most_) connections_.erase(connections_.begin());
  return absl::OkStatus();
}

std::vector<Introductions::Outcome> Introductions::proceed() {
  std::vector<Outcome> outcomes;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(events_.number(), events.data(),
                                 static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    // A copy: the event is packed.
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    const int socket = connection.socket.number();
    const auto done = connection.handshake.proceed(socket);
    if (done.ok() && !*done) continue;
    ::epoll_ctl(events_.number(), EPOLL_CTL_DEL, socket, nullptr);
    Outcome& outcome = outcomes.emplace_back();
    outcome.tag = connection.tag;
    outcome.status = done.status();
    if (done.ok()) {
      outcome.other = connection.handshake.other();
      outcome.socket = std::move(connection.socket);
    }
    connections_.erase(found);
  }
  return outcomes;
}

void Introductions::drop(int tag) {
  std::erase_if(connections_,
                [&](const auto& entry) { return entry.second.tag == tag; });
}

}  // namespace hvd::transport
