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

namespace hvd::launcher {

class NewsSocket {
 public:
  NewsSocket();
  ~NewsSocket();
  NewsSocket(const NewsSocket&) = delete;
  NewsSocket& operator=(const NewsSocket&) = delete;

  // Empty if there can be no such socket; nothing is heard then.
  const std::string& name() const { return name_; }
  int fd() const { return fd_; }

  // All that has arrived.
  std::vector<RankNews> receive();

 private:
  bool is_heard(pid_t speaker);

  int fd_ = -1;
  std::string name_;
  pid_t speaker_ = 0;
};

}  // namespace hvd::launcher
