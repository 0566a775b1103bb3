// SPDX-License-Identifier: Apache-2.0
// A LauncherChannel sends a rank's news (core/job/rank_status.h) to the
// launcher that started it, through a socket of this host. HOROVODPP_LAUNCHER
// holds the socket's name. Without a listening launcher its calls do nothing.
// No call waits or fails.
//
// Thread-safe. Keeps no descriptor open between calls: a program may close
// descriptors that it does not know.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/job/rank_progress.h"
#include "horovodpp/core/job/rank_status.h"

namespace hvd::runtime {

class LauncherChannel {
 public:
  // The name of an abstract Unix socket, without its leading zero; empty: no
  // launcher listens.
  explicit LauncherChannel(std::string socket_name)
      : socket_name_(std::move(socket_name)) {}

  void joining() const;
  void connected() const;
  void broken(const absl::Status& why) const;
  void peer_left_early(const absl::Status& why) const;
  void reforming(std::chrono::nanoseconds timeout) const;
  void reformed(std::vector<int> lost) const;
  void progress(const RankProgress& progress) const;

 private:
  void send_reason(RankStatus::Kind kind, const absl::Status& why) const;
  void send(RankStatus status) const;
  void send_text(const std::string& text) const;

  const std::string socket_name_;
};

}  // namespace hvd::runtime
