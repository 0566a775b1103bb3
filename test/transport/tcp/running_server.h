// SPDX-License-Identifier: Apache-2.0
// A meeting server that runs on a thread of the test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "horovodpp/transport/tcp/meeting_server.h"

namespace hvd::transport {

inline void serve_until(MeetingServer& server, const std::atomic<bool>& ends) {
  while (!ends) {
    pollfd awaited = {server.descriptor(), POLLIN, 0};
    ::poll(&awaited, 1, 10);
    server.proceed();
  }
}

class RunningServer {
 public:
  explicit RunningServer(int size) : key_(JobKey::random().value()) {
    auto server = MeetingServer::start({.key = key_, .size = size});
    if (!server.ok()) {
      ADD_FAILURE() << server.status();
      return;
    }
    server_ = *std::move(server);
    endpoints_ = server_->endpoints();
    thread_ = std::thread([this] { serve_until(*server_, ends_); });
  }
  ~RunningServer() { end(); }

  void end() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  const std::string& endpoints() const { return endpoints_; }
  std::string key() const { return key_.to_hex(); }

 private:
  const JobKey key_;
  std::unique_ptr<MeetingServer> server_;
  std::string endpoints_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace hvd::transport
