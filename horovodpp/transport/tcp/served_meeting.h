// SPDX-License-Identifier: Apache-2.0
// A ServedMeeting runs a MeetingServer on a thread of its own until it is
// destroyed.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/tcp/meeting_server.h"

namespace hvd::transport {

class ServedMeeting {
 public:
  //   (errors)  of MeetingServer::start()
  //   Internal  the system has no descriptor or thread left
  static absl::StatusOr<std::unique_ptr<ServedMeeting>> start(
      const MeetingServer::Options& options);
  ~ServedMeeting();
  ServedMeeting(const ServedMeeting&) = delete;
  ServedMeeting& operator=(const ServedMeeting&) = delete;

  std::string endpoints() const { return server_->endpoints(); }

 private:
  ServedMeeting() = default;
  void run();

  std::unique_ptr<MeetingServer> server_;
  OwnedDescriptor wake_;  // An eventfd.
  std::thread thread_;
};

}  // namespace hvd::transport
