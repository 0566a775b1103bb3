// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/metrics_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::telemetry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{1};
constexpr std::size_t kLongestRequest = 8192;
constexpr int kBacklog = 16;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  const int number_;
};

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

std::string answer(const char* status, const char* type,
                   const std::string& body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n\r\n", body);
}

class HttpServer : public MetricsServer {
 public:
  explicit HttpServer(std::function<std::string()> text)
      : text_(std::move(text)), end_(::eventfd(0, EFD_CLOEXEC)) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  ~HttpServer() override {
    const std::uint64_t one = 1;
    if (end_.is_open()) {
      static_cast<void>(::write(end_.number(), &one, sizeof(one)));
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Status listen(const std::string& address, int port) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    wanted.ai_socktype = SOCK_STREAM;
    Addresses found;
    const int error = ::getaddrinfo(address.c_str(), absl::StrCat(port).c_str(),
                                    &wanted, &found.first);
    if (error != 0) return failed(address, port, ::gai_strerror(error));
    listener_.emplace(::socket(found.first->ai_family,
                               SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(listener_->number(), SOL_SOCKET, SO_REUSEADDR, &on,
                 sizeof(on));
    if (!end_.is_open() || !listener_->is_open() ||
        ::bind(listener_->number(), found.first->ai_addr,
               found.first->ai_addrlen) != 0 ||
        ::listen(listener_->number(), kBacklog) != 0) {
      return failed(address, port, std::strerror(errno));
    }
    HVD_ASSIGN_OR_RETURN(thread_,
                         start_thread("serves metrics", [this] { serve(); }));
    return absl::OkStatus();
  }

 private:
  static absl::Status failed(const std::string& address, int port,
                             const char* reason) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen at ", address, ":", port, " (", reason,
        "); another program may use the port, or the address is not this "
        "host's"));
  }

  // Whether `fd` is ready before the deadline and before the server's end.
  bool wait(int fd, short events, Clock::time_point deadline) const {
    std::array<pollfd, 2> polled = {
        {{.fd = fd, .events = events, .revents = 0},
         {.fd = end_.number(), .events = POLLIN, .revents = 0}}};
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      const int timeout =
          deadline == Clock::time_point::max()
              ? -1
              : static_cast<int>(std::max<std::int64_t>(left.count(), 0));
      const int ready = ::poll(polled.data(), polled.size(), timeout);
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0 && polled[1].revents == 0;
    }
  }

  void serve() const {
    while (wait(listener_->number(), POLLIN, Clock::time_point::max())) {
      const Descriptor client(::accept4(listener_->number(), nullptr, nullptr,
                                        SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (client.is_open()) {
        reply(client.number(), Clock::now() + kPatience);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        // The connection waits until the process has a descriptor again.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  void reply(int client, Clock::time_point deadline) const {
    const std::string request = read_request(client, deadline);
    if (request.empty()) return;
    if (!absl::StartsWith(request, "GET ")) {
      return write(client, answer("405 Method Not Allowed", "text/plain", ""),
                   deadline);
    }
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    if (path != "/metrics" && !absl::StartsWith(path, "/metrics?")) {
      return write(
          client,
          answer("404 Not Found", "text/plain", "metrics are at /metrics\n"),
          deadline);
    }
    write(client, metrics(), deadline);
  }

  std::string metrics() const {
    try {
      return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8",
                    text_());
    } catch (const std::exception& error) {
      return answer("500 Internal Server Error", "text/plain", error.what());
    }
  }

  // Up to the empty line that ends the headers; "": it did not come.
  std::string read_request(int client, Clock::time_point deadline) const {
    std::string request;
    std::array<char, 1024> part{};
    while (request.size() < kLongestRequest) {
      if (!wait(client, POLLIN, deadline)) return "";
      const ssize_t got = ::recv(client, part.data(), part.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return "";
      request.append(part.data(), static_cast<std::size_t>(got));
      if (absl::StrContains(request, "\r\n\r\n")) return request;
    }
    return "";
  }

  void write(int client, std::string_view text,
             Clock::time_point deadline) const {
    while (!text.empty() && wait(client, POLLOUT, deadline)) {
      const ssize_t sent =
          ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (sent < 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  const std::function<std::string()> text_;
  const Descriptor end_;  // Readable when the server is to end.
  std::optional<Descriptor> listener_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::start(
    const std::string& address, int port, std::function<std::string()> text) {
  auto server = std::make_unique<HttpServer>(std::move(text));
  HVD_RETURN_IF_ERROR(server->listen(address, port));
  return server;
}

}  // namespace hvd::telemetry
