// SPDX-License-Identifier: Apache-2.0
// Reads a page over HTTP from a port of this host.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hvd {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that no program uses at the moment.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  const bool bound =
      ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("this host has no free port");
  return ntohs(address.sin_port);
}

// The answer to `request`, with its headers.
inline std::string answer_to(int port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0) {
    static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while ((got = ::recv(fd, part.data(), part.size(), 0)) > 0) {
      answer.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return answer;
}

inline std::string scrape(int port, const std::string& page = "/metrics") {
  return answer_to(port,
                   "GET " + page + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
}

}  // namespace hvd
