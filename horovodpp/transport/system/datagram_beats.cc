// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/datagram_beats.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace hvd::transport {
namespace {

using Contact = DatagramBeats::Contact;

constexpr std::uint32_t kBeatMagic = 0x62647668;  // "hvdb"
// Limit, so that a flood of foreign datagrams does not delay this rank.
constexpr int kDatagramsPerCall = 1000;

struct Beat {
  std::uint32_t magic = kBeatMagic;
  std::int32_t from = 0;
  std::uint64_t token = 0;
};

// Opens a socket for both families; without IPv6, IPv4 only.
OwnedDescriptor open_socket(int family) {
  constexpr int kType = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  OwnedDescriptor opened(::socket(family, kType, 0));
  if (!opened.is_open()) return opened;
  const int no = 0;
  ::setsockopt(opened.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_storage any = {};
  any.ss_family = static_cast<sa_family_t>(family);
  const socklen_t size =
      family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(opened.number(), reinterpret_cast<sockaddr*>(&any), size) != 0) {
    return {};
  }
  return opened;
}

int internet_family_of(int socket) {
  int family = 0;
  socklen_t size = sizeof family;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

}  // namespace

DatagramBeats::DatagramBeats() : socket_(open_socket(AF_INET6)) {
  if (!socket_.is_open()) socket_ = open_socket(AF_INET);
  if (!socket_.is_open()) return;
  if (::getrandom(&contact_.token, sizeof contact_.token, GRND_NONBLOCK) !=
      sizeof contact_.token) {
    return;
  }
  contact_.port = bound_port(socket_.number());
  for (const InternetAddress& address : host_addresses()) {
    if (contact_.addresses == Contact::kMaxAddresses) break;
    contact_.address[contact_.addresses++] = address;
  }
}

void DatagramBeats::send(const Contact& to, int from) const {
  if (!socket_.is_there() || to.port == 0) return;
  const Beat beat = {.from = from, .token = to.token};
  const bool is_v6 = internet_family_of(socket_.number()) == AF_INET6;
  const int addresses =
      std::min<int>(to.addresses, DatagramBeats::Contact::kMaxAddresses);
  for (int i = 0; i < addresses; ++i) {
    const InternetAddress& address = to.address[static_cast<std::size_t>(i)];
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(to.port);
    std::memcpy(&v6.sin6_addr, address.data(), address.size());
    if (!is_v6 && !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) continue;
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(to.port);
    std::memcpy(&v4.sin_addr, &address[kIPv4At], sizeof v4.sin_addr);
    ::sendto(socket_.number(), &beat, sizeof beat, MSG_NOSIGNAL,
             is_v6 ? reinterpret_cast<const sockaddr*>(&v6)
                   : reinterpret_cast<const sockaddr*>(&v4),
             is_v6 ? sizeof v6 : sizeof v4);
  }
}

std::vector<int> DatagramBeats::receive() const {
  std::vector<int> ranks;
  if (!socket_.is_there()) return ranks;
  Beat beat;
  for (int i = 0; i < kDatagramsPerCall; ++i) {
    const ssize_t size = ::recv(socket_.number(), &beat, sizeof beat, 0);
    if (size < 0) break;
    const bool is_mine = size == sizeof beat && beat.magic == kBeatMagic &&
                         beat.token == contact_.token;
    if (is_mine) ranks.push_back(beat.from);
  }
  return ranks;
}

}  // namespace hvd::transport
