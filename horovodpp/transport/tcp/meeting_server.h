// SPDX-License-Identifier: Apache-2.0
// The MeetingServer is where the ranks of a job on several hosts find each
// other: each sends its card, and once all are there each gets all cards. The
// ranks then connect to each other (meeting.h). Rank 0 runs one, or the
// launcher. It also holds the waiting room of an elastic job (waiting_room.h).
//
//   auto server = MeetingServer::start({.key = key, .size = 8});
//   environment["HOROVODPP_RENDEZVOUS"] = "tcp:" + (*server)->endpoints();
//   while (...) {
//     poll((*server)->descriptor());
//     (*server)->proceed();
//   }
//
// For one thread at a time; no call blocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/local/frame_stream.h"
#include "horovodpp/transport/tcp/card.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/introductions.h"
#include "horovodpp/transport/tcp/job_key.h"
#include "horovodpp/transport/tcp/waiting_room.h"

namespace hvd::transport {

class MeetingServer : private FrameReader {
 public:
  struct Options {
    JobKey key{};
    int size = 1;            // Ranks of the job.
    std::uint16_t port = 0;  // 0: any.
    // As in listen_at().
    std::vector<std::string> interfaces{};
  };

  //   (errors)  of listen_at()
  static absl::StatusOr<std::unique_ptr<MeetingServer>> start(
      const Options& options);
  ~MeetingServer() override;

  // Where ranks reach it, for parse_endpoints().
  std::string endpoints() const;
  // Readable when proceed() has something to do.
  int descriptor() const { return events_.number(); }
  void proceed();

 private:
  struct Guest {
    std::unique_ptr<FrameStream> stream;
    std::uint32_t meeting = 0;
    int rank = -1;  // Once its card has been accepted.
    bool leaves = false;
  };
  struct Meeting {
    std::vector<std::optional<Card>> cards;
    int present = 0;
  };

  MeetingServer(const Options& options, TcpListener listener);

  void watch(int descriptor, std::uint64_t id, bool writes, int operation);
  void take_callers();
  void welcome(Introductions::Outcome outcome);
  void serve(int guest);
  absl::Status answer(int guest, const std::string& message);
  // The number of ranks of a meeting; 0: no such meeting is held.
  int size_of(std::uint32_t meeting) const;
  absl::Status seat(int guest, Card card);
  void send(int guest, const std::string& message);
  void send_tables(std::uint32_t number);
  void leave(int guest);
  std::string missing(std::uint32_t number) const;

  // FrameReader; `from` is a guest.
  std::byte* memory_for(int from, const FrameHeader& header) override;
  void arrived(int from, const FrameHeader& header, std::string bytes) override;

  const Options options_;
  const TcpListener listener_;
  OwnedDescriptor events_;
  Introductions introductions_;
  int next_guest_ = 0;
  std::map<int, Guest> guests_;
  std::map<std::uint32_t, Meeting> meetings_;  // That wait for ranks.
  WaitingRoom room_;
};

}  // namespace hvd::transport
