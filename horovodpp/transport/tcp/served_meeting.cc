// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/served_meeting.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>

#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::transport {

absl::StatusOr<std::unique_ptr<ServedMeeting>> ServedMeeting::start(
    const MeetingServer::Options& options) {
  std::unique_ptr<ServedMeeting> served(new ServedMeeting);
  HVD_ASSIGN_OR_RETURN(served->server_, MeetingServer::start(options));
  served->wake_ = OwnedDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!served->wake_.is_open()) return errno_error("eventfd");
  HVD_ASSIGN_OR_RETURN(served->thread_,
                       start_thread("serves the meeting of ranks",
                                    [self = served.get()] { self->run(); }));
  return served;
}

ServedMeeting::~ServedMeeting() {
  if (!thread_.joinable()) return;
  ::eventfd_write(wake_.number(), 1);
  thread_.join();
}

void ServedMeeting::run() {
  std::array<pollfd, 2> awaited = {
      {{server_->descriptor(), POLLIN, 0}, {wake_.number(), POLLIN, 0}}};
  while (awaited[1].revents == 0) {
    ::poll(awaited.data(), awaited.size(), -1);
    server_->proceed();
  }
}

}  // namespace hvd::transport
