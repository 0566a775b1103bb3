// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/launcher_channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "horovodpp/core/job/host_name.h"

namespace hvd::runtime {
void LauncherChannel::joining() const {
  send({.kind = RankNews::Kind::kJoining});
}

void LauncherChannel::connected() const {
  send({.kind = RankNews::Kind::kConnected});
}

void LauncherChannel::broken(const absl::Status& why) const {
  tell_reason(RankNews::Kind::kBroken, why);
}

void LauncherChannel::hindered(const absl::Status& why) const {
  tell_reason(RankNews::Kind::kHindered, why);
}

void LauncherChannel::reforming(std::chrono::nanoseconds patience) const {
  send({.kind = RankNews::Kind::kReforming,
        .patience = std::chrono::ceil<std::chrono::milliseconds>(patience)});
}

void LauncherChannel::reformed(std::vector<int> lost) const {
  send({.kind = RankNews::Kind::kReformed, .lost = std::move(lost)});
}

void LauncherChannel::tell_reason(RankNews::Kind kind,
                                  const absl::Status& why) const {
  RankNews news = {.kind = kind};
  news.set_reason(std::string(why.message()));
  send(std::move(news));
}

void LauncherChannel::send(RankNews news) const {
  sockaddr_un address = {};
  if (socket_name_.empty() || socket_name_.size() >= sizeof(address.sun_path)) {
    return;
  }
  news.host = host_name();
  news.pid = ::getpid();
  const std::string text = to_text(news);
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
