// SPDX-License-Identifier: Apache-2.0
// A RemoteHost is another host of the job, as the starter sees it: a remote
// shell that runs host_ranks.h there, and reads control messages.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodrun/engines/direct/control.h"
#include "horovodrun/pipes/pipe_writer.h"

namespace hvd::launcher {

class RemoteHost {
 public:
  explicit RemoteHost(std::string name) : name_(std::move(name)) {}

  // Connects by the program `shell` and its options, and sends the order.
  //   Internal  the remote shell cannot be started
  absl::Status start(const std::vector<std::string>& shell,
                     const HostOrder& order);

  const std::string& name() const { return name_; }
  // The remote shell; -1: it has not started.
  pid_t shell() const { return shell_; }

  void send(const ControlMessage& message) { control_->add(to_bytes(message)); }
  PipeWriter& control() const { return *control_; }

 private:
  std::string name_;
  pid_t shell_ = -1;
  std::unique_ptr<PipeWriter> control_ = std::make_unique<PipeWriter>();
};

}  // namespace hvd::launcher
