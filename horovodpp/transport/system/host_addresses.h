// SPDX-License-Identifier: Apache-2.0
// The addresses at which other hosts may reach this one.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hvd::transport {

// IPv6; IPv4 addresses are mapped (RFC 4291, 2.5.5.2).
using InternetAddress = std::array<std::uint8_t, 16>;

// The offset of an IPv4 address in its mapped address.
inline constexpr std::size_t kIPv4At = 12;

inline constexpr InternetAddress kLoopbackAddress = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};

bool is_ipv4(const InternetAddress& address);

// "10.0.0.1" or "fd00::1".
std::string to_string(const InternetAddress& address);

// The address in a socket address of either family; none in any other.
std::optional<InternetAddress> address_in(const sockaddr& address);

// The port that an internet socket is bound to; 0: none.
std::uint16_t bound_port(int socket);

// The addresses of interfaces that are up, IPv4 first; neither loopback nor
// link-local addresses. If `interfaces` is not empty, only of the interfaces
// named.
std::vector<InternetAddress> host_addresses(
    const std::vector<std::string>& interfaces = {});

}  // namespace hvd::transport
