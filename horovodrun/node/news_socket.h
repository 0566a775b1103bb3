// SPDX-License-Identifier: Apache-2.0
// A NewsSocket receives a rank's news of its job in the rank's supervisor. It
// is an abstract Unix socket, whose name the rank finds in HOROVODPP_LAUNCHER.
//
// Only processes of this user are accepted, and only one at a time: the first
// sender, until it has ended. So a job that a rank starts for itself does not
// speak for the rank.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "horovodpp/core/rank_news.h"
#include "horovodrun/system/abstract_socket.h"

namespace hvd::launcher {

class NewsSocket {
 public:
  // Empty if the socket cannot be created; nothing is received then.
  const std::string& name() const { return socket_.name(); }
  int fd() const { return socket_.fd(); }

  // All news that have arrived.
  std::vector<RankNews> receive();

 private:
  bool is_heard(pid_t speaker);

  AbstractSocket socket_;
  pid_t speaker_ = 0;
};

}  // namespace hvd::launcher
