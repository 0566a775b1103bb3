// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/room_guest.h"

#include <poll.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/tcp/introductions.h"

namespace hvd::transport {
namespace {

using std::chrono::steady_clock;

constexpr int kPollMilliseconds = 10;
// Pause before all endpoints are tried again.
constexpr std::chrono::milliseconds kBetweenRounds(50);

// Waits for the events, for `longest` milliseconds at most.
void wait_for(int descriptor, short events, int longest) {
  pollfd awaited = {descriptor, events, 0};
  ::poll(&awaited, 1, longest);
}

// The first of the endpoints that answers; no socket: none does now.
absl::StatusOr<OwnedDescriptor> call_all(const RoomGuest::Server& server,
                                         const Caller& mine,
                                         RoomGuest::TimePoint deadline,
                                         std::string& failures) {
  Introductions introductions(server.key);
  std::size_t open = 0;
  failures.clear();
  const auto add_failure = [&](const absl::Status& why) {
    absl::StrAppend(&failures, failures.empty() ? "" : "; ", why.message());
  };
  for (const Endpoint& endpoint : server.endpoints) {
    auto socket = begin_to_connect(endpoint);
    if (!socket.ok()) {
      add_failure(socket.status());
      continue;
    }
    HVD_RETURN_IF_ERROR(introductions.add(*std::move(socket),
                                          Handshake::Side::kCaller, mine, 0));
    ++open;
  }
  while (open > 0 && steady_clock::now() < deadline) {
    for (Introductions::Outcome& outcome : introductions.proceed()) {
      --open;
      if (outcome.status.ok() && outcome.other.rank == Caller::kServer) {
        return std::move(outcome.socket);
      }
      if (!outcome.status.ok() && !absl::IsUnavailable(outcome.status)) {
        return annotate(outcome.status, "the meeting server");
      }
      add_failure(outcome.status);
    }
    if (open > 0) {
      wait_for(introductions.descriptor(), POLLIN, kPollMilliseconds);
    }
  }
  return OwnedDescriptor();
}

}  // namespace

RoomGuest::RoomGuest(OwnedDescriptor socket)
    : stream_(Caller::kServer, std::move(socket),
              static_cast<FrameReader&>(*this)) {}

absl::StatusOr<std::unique_ptr<RoomGuest>> RoomGuest::connect(
    const Server& server, int rank, TimePoint deadline) {
  std::string failures;
  while (true) {
    HVD_ASSIGN_OR_RETURN(OwnedDescriptor socket,
                         call_all(server, {.rank = rank}, deadline, failures));
    if (socket.is_open()) {
      return std::unique_ptr<RoomGuest>(new RoomGuest(std::move(socket)));
    }
    if (steady_clock::now() + kBetweenRounds >= deadline) break;
    wait_for(-1, 0, static_cast<int>(kBetweenRounds.count()));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "the meeting server could not be reached at ",
      absl::StrJoin(server.endpoints, ", ",
                    [](std::string* out, const Endpoint& endpoint) {
                      absl::StrAppend(out, to_string(endpoint));
                    }),
      failures.empty() ? "" : ": ", failures));
}

void RoomGuest::send(const std::string& message) {
  stream_.send({.kind = FrameKind::kMail}, message);
  // An error shows when a message is received.
  stream_.write().IgnoreError();
}

absl::StatusOr<std::optional<std::string>> RoomGuest::receive() {
  if (stream_.has_unsent()) HVD_RETURN_IF_ERROR(stream_.write());
  if (messages_.empty()) HVD_RETURN_IF_ERROR(stream_.read());
  if (messages_.empty()) {
    if (!stream_.is_at_end()) return std::nullopt;
    return absl::UnavailableError("the meeting server has ended");
  }
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  if (kind_of(message) == MeetingMessage::kRefusal) {
    return absl::FailedPreconditionError(text_in(message));
  }
  return message;
}

absl::StatusOr<std::string> RoomGuest::wait(
    const std::function<absl::Status()>& interrupt) {
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<std::string> message, receive());
    if (message.has_value()) return *std::move(message);
    HVD_RETURN_IF_ERROR(interrupt());
    wait_for(stream_.descriptor(),
             stream_.has_unsent() ? POLLIN | POLLOUT : POLLIN,
             kPollMilliseconds);
  }
}

std::byte* RoomGuest::memory_for(int /*from*/, const FrameHeader& /*header*/) {
  return nullptr;
}

void RoomGuest::arrived(int /*from*/, const FrameHeader& /*header*/,
                        std::string bytes) {
  messages_.push_back(std::move(bytes));
}

absl::StatusOr<Admission> admission_in(const std::string& message) {
  HVD_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> numbers,
                       numbers_in(message, 3));
  return Admission{.number = numbers[0],
                   .rank = static_cast<int>(numbers[1]),
                   .size = static_cast<int>(numbers[2])};
}

}  // namespace hvd::transport
