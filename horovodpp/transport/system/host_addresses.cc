// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/host_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace hvd::transport {
namespace {

// Whether another host may reach the interface.
bool is_reachable(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0 ||
      (entry.ifa_flags & IFF_LOOPBACK) != 0) {
    return false;
  }
  if (entry.ifa_addr->sa_family == AF_INET) return true;
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  const auto& ip = *reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  return !IN6_IS_ADDR_LINKLOCAL(&ip.sin6_addr);
}

}  // namespace

bool is_ipv4(const InternetAddress& address) {
  return std::equal(address.begin(), address.begin() + kIPv4At,
                    kLoopbackAddress.begin());
}

std::optional<InternetAddress> address_in(const sockaddr& address) {
  InternetAddress bytes = {};
  if (address.sa_family == AF_INET) {
    bytes[10] = bytes[11] = 0xff;
    std::memcpy(&bytes[kIPv4At],
                &reinterpret_cast<const sockaddr_in&>(address).sin_addr,
                sizeof(in_addr));
    return bytes;
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  std::memcpy(bytes.data(),
              &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
              bytes.size());
  return bytes;
}

std::string to_string(const InternetAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (is_ipv4(address)) {
    ::inet_ntop(AF_INET, &address[kIPv4At], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

std::uint16_t bound_port(int socket) {
  sockaddr_in6 bound = {};  // The IPv4 port has the same offset.
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return 0;
  }
  return ntohs(bound.sin6_port);
}

std::vector<InternetAddress> host_addresses(
    const std::vector<std::string>& interfaces) {
  std::vector<InternetAddress> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = all; entry != nullptr;
         entry = entry->ifa_next) {
      if (!is_reachable(*entry) || entry->ifa_addr->sa_family != family ||
          (!interfaces.empty() &&
           std::find(interfaces.begin(), interfaces.end(), entry->ifa_name) ==
               interfaces.end())) {
        continue;
      }
      addresses.push_back(*address_in(*entry->ifa_addr));
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

}  // namespace hvd::transport
