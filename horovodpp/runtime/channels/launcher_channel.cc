// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/channels/launcher_channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/job/suspects.h"

namespace hvd::runtime {
void LauncherChannel::joining() const {
  send({.kind = RankStatus::Kind::kJoining});
}

void LauncherChannel::connected() const {
  send({.kind = RankStatus::Kind::kConnected});
}

void LauncherChannel::broken(const absl::Status& why) const {
  send_reason(RankStatus::Kind::kBroken, why);
}

void LauncherChannel::peer_left_early(const absl::Status& why) const {
  send_reason(RankStatus::Kind::kPeerLeftEarly, why);
}

void LauncherChannel::reforming(std::chrono::nanoseconds timeout) const {
  send({.kind = RankStatus::Kind::kReforming,
        .timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout)});
}

void LauncherChannel::reformed(std::vector<int> lost) const {
  send({.kind = RankStatus::Kind::kReformed, .lost = std::move(lost)});
}

void LauncherChannel::send_reason(RankStatus::Kind kind,
                                  const absl::Status& why) const {
  RankStatus status = {.kind = kind};
  status.set_reason(std::string(why.message()));
  status.failure = failure_kind_of(why);
  send(std::move(status));
}

void LauncherChannel::progress(const RankProgress& progress) const {
  send_text(progress_text(progress));
}

void LauncherChannel::send(RankStatus status) const {
  if (socket_name_.empty()) return;
  status.host = host_name();
  status.pid = ::getpid();
  send_text(to_text(status));
}

void LauncherChannel::send_text(const std::string& text) const {
  sockaddr_un address = {};
  if (socket_name_.empty() || socket_name_.size() >= sizeof(address.sun_path)) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::copy(socket_name_.begin(), socket_name_.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                           socket_name_.size());
  const int socket =
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return;
  ::sendto(socket, text.data(), text.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
  ::close(socket);
}

}  // namespace hvd::runtime
