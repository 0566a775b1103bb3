// SPDX-License-Identifier: Apache-2.0
// A TimedConnection is a connection by TCP whose calls wait, until a deadline.
#pragma once

#include <chrono>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class TimedConnection {
 public:
  // Owns `fd`.
  TimedConnection(int fd, std::chrono::steady_clock::time_point deadline);
  ~TimedConnection();
  TimedConnection(const TimedConnection&) = delete;
  TimedConnection& operator=(const TimedConnection&) = delete;

  // False: the peer has gone, or the deadline has passed.
  bool send_all(absl::string_view bytes) const;
  bool receive_all(char* bytes, std::size_t size) const;
  // Waits for POLLIN or POLLOUT; false: the deadline has passed.
  bool ready(short events) const;

 private:
  const int fd_;
  const std::chrono::steady_clock::time_point deadline_;
};

}  // namespace hvd::launcher
