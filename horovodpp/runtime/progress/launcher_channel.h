// SPDX-License-Identifier: Apache-2.0
// What a rank has to tell the launcher that started it (core/rank_news.h) goes
// through a LauncherChannel: to a socket of this host whose name is in
// HOROVODPP_LAUNCHER. Where there is no launcher that listens nothing happens,
// and no call waits or fails.
//
// Thread-safe. Nothing is kept open between calls: a program may close every
// descriptor it does not know.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/rank_news.h"

namespace hvd::runtime {

class LauncherChannel {
 public:
  // Of an abstract Unix socket, without its leading zero; empty: nobody listens.
  explicit LauncherChannel(std::string socket_name)
      : socket_name_(std::move(socket_name)) {}

  void joining() const;
  void connected() const;
  void broken(const absl::Status& why) const;
  void hindered(const absl::Status& why) const;
  void reforming(std::chrono::nanoseconds patience) const;
  void reformed(std::vector<int> lost) const;

 private:
  void tell_reason(RankNews::Kind kind, const absl::Status& why) const;
  void tell(RankNews news) const;

  const std::string socket_name_;
};

}  // namespace hvd::runtime
