// SPDX-License-Identifier: Apache-2.0
// Where a rank's supervisor hears what the rank has to tell of its job: an
// abstract Unix socket, whose name the rank finds in HOROVODPP_LAUNCHER.
//
// Only processes of this user are heard, and of them one at a time: the first
// that speaks, until it has ended. So a job that a rank starts for itself does
// not speak for the rank.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "horovodpp/core/rank_news.h"
#include "horovodrun/system/abstract_socket.h"

namespace hvd::launcher {

class NewsSocket {
 public:
  // Empty if there can be no such socket; nothing is heard then.
  const std::string& name() const { return socket_.name(); }
  int fd() const { return socket_.fd(); }

  // All that has arrived.
  std::vector<RankNews> receive();

 private:
  bool is_heard(pid_t speaker);

  AbstractSocket socket_;
  pid_t speaker_ = 0;
};

}  // namespace hvd::launcher
