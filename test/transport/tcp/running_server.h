// SPDX-License-Identifier: Apache-2.0
// A meeting server that runs on a thread of the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "horovodpp/transport/tcp/served_meeting.h"

namespace hvd::transport {

class RunningServer {
 public:
  explicit RunningServer(int size) : key_(JobKey::random().value()) {
    auto served = ServedMeeting::start({.key = key_, .size = size});
    if (!served.ok()) {
      ADD_FAILURE() << served.status();
      return;
    }
    served_ = *std::move(served);
    endpoints_ = served_->endpoints();
  }

  void end() { served_.reset(); }

  const std::string& endpoints() const { return endpoints_; }
  std::string key() const { return key_.to_hex(); }

 private:
  const JobKey key_;
  std::unique_ptr<ServedMeeting> served_;
  std::string endpoints_;
};

}  // namespace hvd::transport
