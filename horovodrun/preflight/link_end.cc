// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/link_end.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/system/timed_connection.h"

namespace hvd::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kChunk = 64 << 10;
constexpr std::size_t kMaxKey = 256;
// For a peer that does not prove itself.
constexpr milliseconds kProofTime{500};

struct Halves {
  absl::string_view mine;
  absl::string_view theirs;
};

Halves halves_of(absl::string_view key) {
  return {key.substr(0, key.size() / 2), key.substr(key.size() / 2)};
}

bool receive_text(const TimedConnection& from, absl::string_view expected) {
  std::string text(expected.size(), '\0');
  return from.receive_all(text.data(), text.size()) && text == expected;
}

// Data: chunks whose first byte is 1, and 0 for the last one.
bool send_data(const TimedConnection& to) {
  std::string chunk(kChunk, '\1');
  const auto end = SteadyClock::now() + kTransferTime;
  while (SteadyClock::now() < end) {
    if (!to.send_all(chunk)) return false;
  }
  chunk[0] = '\0';
  return to.send_all(chunk);
}

// Returns Mbit/s; nullopt: the peer has gone.
std::optional<double> receive_data(const TimedConnection& from) {
  std::string chunk(kChunk, '\0');
  std::size_t bytes = 0;
  std::optional<SteadyClock::time_point> begin;
  do {
    if (!from.receive_all(chunk.data(), chunk.size())) return std::nullopt;
    // The first chunk starts the clock.
    if (begin) bytes += chunk.size();
    if (!begin) begin = SteadyClock::now();
  } while (chunk[0] != '\0');
  const double seconds =
      std::chrono::duration<double>(SteadyClock::now() - *begin).count();
  return seconds > 0 ? static_cast<double>(bytes) * 8e-6 / seconds : 0;
}

// The server's part: echoes bytes until 0, takes data, says how fast they came,
// and sends data.
void answer_peer(const TimedConnection& peer) {
  char byte = 0;
  do {
    if (!peer.receive_all(&byte, 1) || !peer.send_all({&byte, 1})) return;
  } while (byte != 0);
  const std::optional<double> rate = receive_data(peer);
  if (!rate ||
      !peer.send_all({reinterpret_cast<const char*>(&*rate), sizeof *rate})) {
    return;
  }
  send_data(peer);
}

std::optional<double> measure_latency(const TimedConnection& peer) {
  const auto end = SteadyClock::now() + kLatencyTime;
  double fastest = 1e9;
  char byte = 1;
  while (byte != 0) {
    const auto begin = SteadyClock::now();
    if (begin >= end) byte = 0;
    if (!peer.send_all({&byte, 1}) || !peer.receive_all(&byte, 1)) {
      return std::nullopt;
    }
    fastest = std::min(fastest, std::chrono::duration<double, std::micro>(
                                    SteadyClock::now() - begin)
                                    .count());
  }
  return fastest / 2;
}

std::optional<LinkFigures> measure_peer(const TimedConnection& peer) {
  LinkFigures figures;
  const std::optional<double> latency = measure_latency(peer);
  if (!latency || !send_data(peer) ||
      !peer.receive_all(reinterpret_cast<char*>(&figures.there),
                        sizeof figures.there)) {
    return std::nullopt;
  }
  const std::optional<double> back = receive_data(peer);
  if (!back) return std::nullopt;
  figures.latency_us = *latency;
  figures.back = *back;
  return figures;
}

void say(const LinkAnswer& answer) {
  std::fputs((to_line(answer) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

sockaddr_in socket_address_of(std::uint32_t address, int port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

// 0: this host cannot listen.
int listen_anywhere(int listener) {
  sockaddr_in address = socket_address_of(INADDR_ANY, 0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, size) != 0 || listen(listener, 8) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

void serve(absl::string_view key) {
  const int listener =
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int port = listener < 0 ? 0 : listen_anywhere(listener);
  if (port == 0) {
    say({.problem = absl::StrCat("cannot listen: ", std::strerror(errno))});
    if (listener >= 0) close(listener);
    return;
  }
  say({.port = port});
  const Halves halves = halves_of(key);
  const auto end = SteadyClock::now() + kServeTime;
  for (bool served = false; !served;) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyClock::now());
    pollfd awaited = {listener, POLLIN, 0};
    if (left.count() <= 0 ||
        poll(&awaited, 1, static_cast<int>(left.count())) <= 0) {
      break;
    }
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    {
      const int proof_fd = dup(fd);
      const TimedConnection unknown(proof_fd, SteadyClock::now() + kProofTime);
      served = proof_fd >= 0 && receive_text(unknown, halves.mine) &&
               unknown.send_all(halves.theirs);
    }
    const TimedConnection peer(fd, end);
    if (served) answer_peer(peer);
  }
  close(listener);
}

void measure(std::uint32_t address, int port, absl::string_view key) {
  const auto end = SteadyClock::now() + kServeTime;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return say({.problem = absl::StrCat("no socket: ", std::strerror(errno))});
  }
  const TimedConnection peer(fd, end);
  const sockaddr_in to = socket_address_of(address, port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
      errno != EINPROGRESS) {
    return say({.problem = std::strerror(errno)});
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (!peer.ready(POLLOUT)) {
    return say({.problem = "no answer to a connection by TCP"});
  }
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return say({.problem = std::strerror(error)});
  const Halves halves = halves_of(key);
  if (!peer.send_all(halves.mine) || !receive_text(peer, halves.theirs)) {
    return say({.problem = "another host answers at its address"});
  }
  const std::optional<LinkFigures> figures = measure_peer(peer);
  if (!figures) return say({.problem = "the connection was too slow or broke"});
  say({.figures = figures});
}

void obey(const std::string& order) {
  const std::vector<std::string> words = absl::StrSplit(order, ' ');
  int port = 0;
  if (words.size() == 2 && words[0] == "serve" && words[1].size() <= kMaxKey) {
    serve(words[1]);
  } else if (words.size() == 4 && words[0] == "measure" &&
             words[3].size() <= kMaxKey && parse_address(words[1]) &&
             absl::SimpleAtoi(words[2], &port) && port > 0 && port < 65536) {
    measure(*parse_address(words[1]), port, words[3]);
  }
}

}  // namespace

std::string serve_order(absl::string_view key) {
  return absl::StrCat("serve ", key, "\n");
}

std::string measure_order(std::uint32_t address, int port,
                          absl::string_view key) {
  return absl::StrCat("measure ", address_text(address), " ", port, " ", key,
                      "\n");
}

std::string to_line(const LinkAnswer& answer) {
  if (answer.port != 0) return absl::StrCat(kFactsWord, "port ", answer.port);
  if (!answer.figures) {
    return absl::StrCat(kFactsWord, "no-link ", answer.problem);
  }
  const LinkFigures& figures = *answer.figures;
  return absl::StrCat(kFactsWord, "link ", figures.latency_us, " ",
                      figures.there, " ", figures.back);
}

std::optional<LinkAnswer> parse_link_answer(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, kFactsWord)) return std::nullopt;
  LinkAnswer answer;
  if (absl::ConsumePrefix(&line, "no-link ")) {
    answer.problem = std::string(line.substr(0, kMaxKey));
    return answer;
  }
  if (absl::ConsumePrefix(&line, "port ")) {
    if (!absl::SimpleAtoi(line, &answer.port) || answer.port < 1 ||
        answer.port > 65535) {
      return std::nullopt;
    }
    return answer;
  }
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  LinkFigures figures;
  if (words.size() != 4 || words[0] != "link" ||
      !absl::SimpleAtod(words[1], &figures.latency_us) ||
      !absl::SimpleAtod(words[2], &figures.there) ||
      !absl::SimpleAtod(words[3], &figures.back)) {
    return std::nullopt;
  }
  answer.figures = figures;
  return answer;
}

int measure_link() {
  std::signal(SIGPIPE, SIG_IGN);
  std::string order;
  while (std::getline(std::cin, order)) obey(order);
  return 0;
}

}  // namespace hvd::launcher
