// SPDX-License-Identifier: Apache-2.0
// TCP sockets that listen at, and connect to, the addresses of hosts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/system/host_addresses.h"
#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

struct Endpoint {
  InternetAddress address = {};
  std::uint16_t port = 0;
};

// "10.0.0.1:4711" or "[fd00::1]:4711".
std::string to_string(const Endpoint& endpoint);
// Endpoints, separated by commas, in the notation of to_string().
//   InvalidArgument  quotes the part that is none
absl::StatusOr<std::vector<Endpoint>> parse_endpoints(std::string_view text);

struct TcpListener {
  OwnedDescriptor socket{};
  // Where others may reach it; the loopback address if the host has no other.
  std::vector<Endpoint> endpoints{};
};

// The port of "HOST:PORT".
//   InvalidArgument  `text` has another form
absl::StatusOr<std::uint16_t> port_of(std::string_view text);

// The endpoints of "NAME:PORT" by the system's resolver; blocks.
//   InvalidArgument  `text` has another form
//   Unavailable      the name is unknown, maybe not yet
absl::StatusOr<std::vector<Endpoint>> resolve(const std::string& text);

// Listens at `port`, or at a free one if it is 0. With `interfaces`, only their
// addresses are offered. If this host has one of them, the socket is bound to it.
//   NotFound  no interface of these names has an address; lists those that have
//   Internal  the system has no socket or port left, or another program has
//             this port
absl::StatusOr<TcpListener> listen_at(
    const std::vector<std::string>& interfaces, std::uint16_t port = 0);

// A non-blocking socket that begins to connect; the connection may fail later.
//   Unavailable  it cannot begin
absl::StatusOr<OwnedDescriptor> begin_to_connect(const Endpoint& endpoint);

// The next connection, non-blocking; none if there is none.
//   Internal  the system has no descriptor left
absl::StatusOr<OwnedDescriptor> accept_from(const OwnedDescriptor& listening);

}  // namespace hvd::transport
