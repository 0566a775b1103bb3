// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/own_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {
namespace {

std::vector<std::uint32_t> addresses_of(const std::string& name) {
  std::vector<std::uint32_t> addresses;
  addrinfo wanted = {};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0)
    return addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
    addresses.push_back(ntohl(address->sin_addr.s_addr));
  }
  freeaddrinfo(found);
  return addresses;
}

bool has_address(const std::vector<Interface>& interfaces,
                 std::uint32_t address) {
  return std::any_of(
      interfaces.begin(), interfaces.end(),
      [&](const Interface& one) { return one.address == address; });
}

}  // namespace

bool is_own_host(const std::string& name, const std::string& own_name,
                 const std::vector<Interface>& interfaces) {
  const auto address = parse_address(name);
  return all_local({{name, 1}}, own_name) ||
         (address && has_address(interfaces, *address));
}

bool resolves_to_own_host(const std::string& name,
                          const std::vector<Interface>& interfaces) {
  const std::vector<std::uint32_t> addresses = addresses_of(name);
  return std::any_of(
      addresses.begin(), addresses.end(),
      [&](std::uint32_t address) { return has_address(interfaces, address); });
}

}  // namespace hvd::launcher
