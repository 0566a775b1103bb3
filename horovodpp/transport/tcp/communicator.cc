// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/communicator.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/transport/local/held_meetings.h"
#include "horovodpp/transport/local/stream_communicator.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/system/host.h"
#include "horovodpp/transport/tcp/meeting.h"
#include "horovodpp/transport/tcp/meeting_server.h"

namespace hvd::transport {
namespace {

// Pause between two questions for the address of a host that is not known yet.
constexpr std::chrono::milliseconds kBetweenLookups(200);

Peer this_process(const TcpOptions& options) {
  const std::string host = host_name();
  Peer self = {.host = host, .pid = ::getpid(), .node = machine_id(host)};
  if (options.ranks_per_node > 0) {
    absl::StrAppend(&self.node, "#", options.rank / options.ranks_per_node);
  }
  return self;
}

// Serves a meeting on a thread of its own until it is destroyed.
class ServedMeeting {
 public:
  absl::Status start(const MeetingServer::Options& options) {
    HVD_ASSIGN_OR_RETURN(server_, MeetingServer::start(options));
    wake_ = OwnedDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    HVD_ASSIGN_OR_RETURN(thread_, start_thread("serves the meeting of ranks",
                                               [this] { run(); }));
    return absl::OkStatus();
  }
  ~ServedMeeting() {
    if (!thread_.joinable()) return;
    ::eventfd_write(wake_.number(), 1);
    thread_.join();
  }

  std::string endpoints() const { return server_->endpoints(); }

 private:
  void run() {
    std::array<pollfd, 2> awaited = {
        {{server_->descriptor(), POLLIN, 0}, {wake_.number(), POLLIN, 0}}};
    while (awaited[1].revents == 0) {
      ::poll(awaited.data(), awaited.size(), -1);
      server_->proceed();
    }
  }

  std::unique_ptr<MeetingServer> server_;
  OwnedDescriptor wake_;  // An eventfd.
  std::thread thread_;
};

// The server's endpoints, once the name of its host is known.
absl::StatusOr<std::vector<Endpoint>> resolved(const TcpOptions& options) {
  while (true) {
    auto endpoints = resolve(options.server);
    if (endpoints.ok() || !absl::IsUnavailable(endpoints.status())) {
      return endpoints;
    }
    if (std::chrono::steady_clock::now() + kBetweenLookups > options.deadline) {
      return absl::DeadlineExceededError(endpoints.status().message());
    }
    std::this_thread::sleep_for(kBetweenLookups);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_tcp_communicator(
    const TcpOptions& options) {
  TcpMeeting meeting = {.rank = options.rank,
                        .size = options.size,
                        .self = this_process(options),
                        .interfaces = options.interfaces,
                        .deadline = options.deadline};
  HVD_ASSIGN_OR_RETURN(meeting.key, JobKey::from_hex(options.key));
  ServedMeeting served;
  if (options.rank_0_serves && options.rank == 0) {
    HVD_ASSIGN_OR_RETURN(const std::uint16_t port, port_of(options.server));
    HVD_RETURN_IF_ERROR(served.start({.key = meeting.key,
                                      .size = options.size,
                                      .port = port,
                                      .interfaces = options.interfaces}));
    HVD_ASSIGN_OR_RETURN(meeting.server, parse_endpoints(served.endpoints()));
  } else {
    HVD_ASSIGN_OR_RETURN(meeting.server, resolved(options));
  }
  HVD_ASSIGN_OR_RETURN(const int number,
                       next_meeting(options.key, options.rank));
  meeting.number = static_cast<std::uint32_t>(number);
  auto beats = std::make_unique<DatagramBeats>();
  meeting.contact = beats->contact();
  HVD_ASSIGN_OR_RETURN(std::vector<ConnectedRank> ranks, meet_by_tcp(meeting));
  meeting_was_held(options.key, options.rank);
  return make_stream_communicator(options.rank, std::move(ranks),
                                  std::move(beats));
}

}  // namespace hvd::transport
