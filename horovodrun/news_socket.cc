#include "horovodrun/news_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodrun/random_token.h"

namespace hvd::launcher {
namespace {

// Whether the sender of a message is a process of this user; which one.
bool read_sender(const msghdr& message, pid_t* sender) {
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message),
                          const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) {
      continue;
    }
    ucred credentials = {};
    std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
    *sender = credentials.pid;
    return credentials.uid == geteuid();
  }
  return false;
}

}  // namespace

NewsSocket::NewsSocket() {
  const std::string name = absl::StrCat("horovodrun.", random_token());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int on = 1;
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return;
  if (setsockopt(fd_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
      bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    name_ = name;
    return;
  }
  close(fd_);
  fd_ = -1;
}

NewsSocket::~NewsSocket() {
  if (fd_ >= 0) close(fd_);
}

bool NewsSocket::is_heard(pid_t speaker) {
  if (speaker_ == 0 || (speaker != speaker_ && kill(speaker_, 0) != 0)) {
    speaker_ = speaker;
  }
  return speaker == speaker_;
}

std::vector<RankNews> NewsSocket::receive() {
  std::vector<RankNews> all;
  while (fd_ >= 0) {
    char bytes[kMaxRankNewsBytes];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec buffer = {bytes, sizeof bytes};
    msghdr message = {};
    message.msg_iov = &buffer;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    pid_t sender = 0;
    if (!read_sender(message, &sender)) continue;
    const std::optional<RankNews> news =
        parse_rank_news({bytes, static_cast<size_t>(size)});
    if (news && is_heard(sender)) all.push_back(*news);
  }
  return all;
}

}  // namespace hvd::launcher
