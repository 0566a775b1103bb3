// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxDescriptors = 4;

struct Address {
  sockaddr_un un = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

Address address_of(const std::string& name) {
  Address address;
  address.un.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.un.sun_path + 1);
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

int new_socket(int flags) {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
}

// Reads the control data of `message`. Returns whether its sender is a process
// of this user.
bool read_control(const msghdr& message, AbstractSocket::Letter* letter) {
  bool is_trusted = false;
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message),
                          const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials = {};
      std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
      letter->sender = credentials.pid;
      is_trusted = credentials.uid == geteuid();
    } else if (part->cmsg_type == SCM_RIGHTS) {
      letter->descriptors.resize((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(letter->descriptors.data(), CMSG_DATA(part),
                  letter->descriptors.size() * sizeof(int));
    }
  }
  return is_trusted;
}

}  // namespace

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&token, "%08x", device());
  return token;
}

AbstractSocket::AbstractSocket() {
  const std::string name = absl::StrCat("horovodrun.", random_token());
  const Address address = address_of(name);
  const int on = 1;
  fd_ = new_socket(SOCK_NONBLOCK);
  if (fd_ < 0) return;
  if (setsockopt(fd_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
      bind(fd_, address.get(), address.size) == 0) {
    name_ = name;
    return;
  }
  close(fd_);
  fd_ = -1;
}

AbstractSocket::~AbstractSocket() {
  if (fd_ >= 0) close(fd_);
}

std::optional<AbstractSocket::Letter> AbstractSocket::receive_any(
    std::size_t most_bytes, bool* is_trusted) {
  Letter letter;
  letter.bytes.resize(most_bytes);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) +
                                CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec buffer = {letter.bytes.data(), letter.bytes.size()};
  msghdr message = {};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return std::nullopt;
  letter.bytes.resize(static_cast<std::size_t>(size));
  *is_trusted = read_control(message, &letter);
  return letter;
}

std::optional<AbstractSocket::Letter> AbstractSocket::receive(
    std::size_t most_bytes) {
  while (fd_ >= 0) {
    bool is_trusted = false;
    std::optional<Letter> letter = receive_any(most_bytes, &is_trusted);
    if (!letter || is_trusted) return letter;
    for (const int descriptor : letter->descriptors) close(descriptor);
  }
  return std::nullopt;
}

bool send_to_socket(const std::string& name, absl::string_view bytes,
                    const std::vector<int>& descriptors) {
  if (name.empty() || name.size() >= sizeof(sockaddr_un::sun_path) ||
      descriptors.size() > kMaxDescriptors) {
    return false;
  }
  Address address = address_of(name);
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  const std::size_t payload = descriptors.size() * sizeof(int);
  iovec buffer = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message = {};
  message.msg_name = &address.un;
  message.msg_namelen = address.size;
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(payload);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(payload);
    std::memcpy(CMSG_DATA(part), descriptors.data(), payload);
  }
  const int fd = new_socket(0);
  if (fd < 0) return false;
  ssize_t count;
  do {
    count = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  close(fd);
  return count == static_cast<ssize_t>(bytes.size());
}

}  // namespace hvd::launcher
