// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/endpoint.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  int family() const { return storage.ss_family; }
};

SocketAddress socket_address(const Endpoint& endpoint) {
  SocketAddress result;
  if (is_ipv4(endpoint.address)) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    std::memcpy(&v4->sin_addr, &endpoint.address[kIPv4At], sizeof v4->sin_addr);
    result.bytes = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint.port);
    std::memcpy(&v6->sin6_addr, endpoint.address.data(),
                endpoint.address.size());
    result.bytes = sizeof *v6;
  }
  return result;
}

OwnedDescriptor new_tcp_socket(int family) {
  OwnedDescriptor socket(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.is_open() && family == AF_INET6) {
    const int no = 0;
    ::setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  return socket;
}

// Small messages leave at once.
void send_without_delay(const OwnedDescriptor& socket) {
  const int yes = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::string interfaces_with_addresses() {
  std::vector<std::string> names;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "none";
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET) {
      names.emplace_back(entry->ifa_name);
    }
  }
  ::freeifaddrs(all);
  return absl::StrJoin(names, ", ");
}

absl::StatusOr<OwnedDescriptor> bound_to(const Endpoint& endpoint) {
  const SocketAddress address = socket_address(endpoint);
  OwnedDescriptor socket = new_tcp_socket(address.family());
  if (!socket.is_open()) return errno_error("socket");
  // Later meetings of the job use the port again.
  const int yes = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.number(), address.get(), address.bytes) != 0) {
    return errno_error(endpoint.port == 0
                           ? "bind of a TCP socket"
                           : absl::StrCat("TCP port ", endpoint.port,
                                          " of this host cannot be had"));
  }
  if (::listen(socket.number(), SOMAXCONN) != 0) return errno_error("listen");
  return socket;
}

absl::StatusOr<InternetAddress> parse_address(const std::string& text) {
  InternetAddress address = kLoopbackAddress;
  if (::inet_pton(AF_INET, text.c_str(), &address[kIPv4At]) == 1 ||
      ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) {
    return address;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no numeric address of a host"));
}

// Whether this host has exactly one of the named interfaces.
bool has_one_of(const std::vector<std::string>& interfaces) {
  return std::count_if(interfaces.begin(), interfaces.end(),
                       [](const std::string& name) {
                         return !host_addresses({name}).empty();
                       }) == 1;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const std::string address = to_string(endpoint.address);
  return is_ipv4(endpoint.address)
             ? absl::StrCat(address, ":", endpoint.port)
             : absl::StrCat("[", address, "]:", endpoint.port);
}

absl::StatusOr<std::uint16_t> port_of(std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  const std::size_t colon = view.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(view.substr(colon + 1), &port) || port < 1 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", view, "' is no HOST:PORT"));
  }
  return static_cast<std::uint16_t>(port);
}

absl::StatusOr<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    HVD_ASSIGN_OR_RETURN(const std::uint16_t port,
                         port_of({part.data(), part.size()}));
    std::string host(part.substr(0, part.rfind(':')));
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    HVD_ASSIGN_OR_RETURN(const InternetAddress address, parse_address(host));
    endpoints.push_back({.address = address, .port = port});
  }
  return endpoints;
}

absl::StatusOr<std::vector<Endpoint>> resolve(const std::string& text) {
  HVD_ASSIGN_OR_RETURN(const std::uint16_t port, port_of(text));
  auto numeric = parse_endpoints(text);
  if (numeric.ok()) return numeric;
  const std::string name = text.substr(0, text.rfind(':'));
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("the host name '", name, "': ", ::gai_strerror(error)));
  }
  std::vector<Endpoint> endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (const auto address = address_in(*one->ai_addr)) {
      endpoints.push_back({.address = *address, .port = port});
    }
  }
  ::freeaddrinfo(found);
  return endpoints;
}

absl::StatusOr<TcpListener> listen_at(
    const std::vector<std::string>& interfaces, std::uint16_t port) {
  std::vector<InternetAddress> addresses = host_addresses(interfaces);
  if (addresses.empty() && !interfaces.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "this host has no address at ", absl::StrJoin(interfaces, ", "),
        "; interfaces with addresses: ", interfaces_with_addresses()));
  }
  if (addresses.empty()) addresses.push_back(kLoopbackAddress);
  const bool binds = has_one_of(interfaces);
  absl::StatusOr<OwnedDescriptor> socket =
      binds ? bound_to({.address = addresses[0], .port = port})
            : bound_to({.port = port});
  // Without IPv6.
  if (!socket.ok() && !binds) {
    InternetAddress any = kLoopbackAddress;
    any[kIPv4At] = any.back() = 0;
    socket = bound_to({.address = any, .port = port});
  }
  if (!socket.ok()) return socket.status();
  TcpListener listener = {.socket = *std::move(socket)};
  const std::uint16_t bound = bound_port(listener.socket.number());
  if (binds) addresses.resize(1);
  for (const InternetAddress& address : addresses) {
    listener.endpoints.push_back({.address = address, .port = bound});
  }
  return listener;
}

absl::StatusOr<OwnedDescriptor> begin_to_connect(const Endpoint& endpoint) {
  const SocketAddress address = socket_address(endpoint);
  OwnedDescriptor socket = new_tcp_socket(address.family());
  if (!socket.is_open()) {
    return absl::UnavailableError(errno_error("socket").message());
  }
  send_without_delay(socket);
  if (::connect(socket.number(), address.get(), address.bytes) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    return absl::UnavailableError(errno_error("connect").message());
  }
  return socket;
}

absl::StatusOr<OwnedDescriptor> accept_from(const OwnedDescriptor& listening) {
  while (true) {
    OwnedDescriptor socket(::accept4(listening.number(), nullptr, nullptr,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      send_without_delay(socket);
      return socket;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return OwnedDescriptor();
    return errno_error("accept");
  }
}

}  // namespace hvd::transport
