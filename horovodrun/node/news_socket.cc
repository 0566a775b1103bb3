// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/news_socket.h"

#include <unistd.h>

#include <csignal>
#include <optional>

namespace hvd::launcher {

bool NewsSocket::is_heard(pid_t speaker) {
  if (speaker_ == 0 || (speaker != speaker_ && kill(speaker_, 0) != 0)) {
    speaker_ = speaker;
  }
  return speaker == speaker_;
}

std::vector<RankNews> NewsSocket::receive() {
  std::vector<RankNews> all;
  while (const auto letter = socket_.receive(kMaxRankNewsBytes)) {
    for (const int descriptor : letter->descriptors) close(descriptor);
    const std::optional<RankNews> news = parse_rank_news(letter->bytes);
    if (news && is_heard(letter->sender)) all.push_back(*news);
  }
  return all;
}

}  // namespace hvd::launcher
