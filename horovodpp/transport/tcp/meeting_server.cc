// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/meeting_server.h"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

constexpr int kEventsAtATime = 64;
// Ids of the descriptors that are no guest's.
constexpr std::uint64_t kListening = ~std::uint64_t{0};
constexpr std::uint64_t kIntroducing = kListening - 1;

constexpr Caller kThisServer = {.rank = Caller::kServer};

}  // namespace

absl::StatusOr<std::unique_ptr<MeetingServer>> MeetingServer::start(
    const Options& options) {
  HVD_ASSIGN_OR_RETURN(TcpListener listener,
                       listen_at(options.interfaces, options.port));
  std::unique_ptr<MeetingServer> server(
      new MeetingServer(options, std::move(listener)));
  if (!server->events_.is_open()) return errno_error("epoll_create1");
  return server;
}

MeetingServer::MeetingServer(const Options& options, TcpListener listener)
    : options_(options),
      listener_(std::move(listener)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      introductions_(options_.key),
      room_([this](int guest, const std::string& message) {
        if (guests_.contains(guest)) send(guest, message);
      }) {
  watch(listener_.socket.number(), kListening, false, EPOLL_CTL_ADD);
  watch(introductions_.descriptor(), kIntroducing, false, EPOLL_CTL_ADD);
}

MeetingServer::~MeetingServer() = default;

std::string MeetingServer::endpoints() const {
  return absl::StrJoin(listener_.endpoints, ",",
                       [](std::string* out, const Endpoint& endpoint) {
                         absl::StrAppend(out, to_string(endpoint));
                       });
}

void MeetingServer::watch(int descriptor, std::uint64_t id, bool writes,
                          int operation) {
  epoll_event event = {};
  event.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = id;
  ::epoll_ctl(events_.number(), operation, descriptor, &event);
}

void MeetingServer::proceed() {
  std::array<epoll_event, kEventsAtATime> events;
  const int count =
      ::epoll_wait(events_.number(), events.data(), kEventsAtATime, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
    if (id == kListening) {
      take_callers();
    } else if (id == kIntroducing) {
      for (Introductions::Outcome& outcome : introductions_.proceed()) {
        if (outcome.status.ok()) welcome(std::move(outcome));
      }
    } else {
      serve(static_cast<int>(id));
    }
  }
}

void MeetingServer::take_callers() {
  while (true) {
    auto socket = accept_from(listener_.socket);
    if (!socket.ok() || !socket->is_open()) return;
    // Without a descriptor left the caller is dropped, and calls again.
    introductions_
        .add(*std::move(socket), Handshake::Side::kListener, kThisServer, 0)
        .IgnoreError();
  }
}

void MeetingServer::welcome(Introductions::Outcome outcome) {
  const int id = next_guest_++;
  const int socket = outcome.socket.number();
  guests_[id] = {
      .stream = std::make_unique<FrameStream>(id, std::move(outcome.socket),
                                              static_cast<FrameReader&>(*this)),
      .meeting = outcome.other.meeting};
  watch(socket, static_cast<std::uint64_t>(id), false, EPOLL_CTL_ADD);
  serve(id);
}

void MeetingServer::serve(int guest) {
  const auto found = guests_.find(guest);
  if (found == guests_.end()) return;
  FrameStream& stream = *found->second.stream;
  const bool read = stream.read().ok();
  const bool written = stream.write().ok();
  if (!read || !written || stream.is_at_end() || found->second.leaves) {
    leave(guest);
    return;
  }
  watch(stream.descriptor(), static_cast<std::uint64_t>(guest),
        stream.has_unsent(), EPOLL_CTL_MOD);
}

std::byte* MeetingServer::memory_for(int from, const FrameHeader& header) {
  // No rank sends more than its card.
  if (header.kind != FrameKind::kMail || header.bytes > kAmpleestCard) {
    guests_[from].leaves = true;
  }
  return nullptr;
}

void MeetingServer::arrived(int from, const FrameHeader& /*header*/,
                            std::string bytes) {
  if (guests_[from].leaves) return;
  const absl::Status answered = answer(from, bytes);
  if (!answered.ok()) {
    send(from,
         message_of(MeetingMessage::kRefusal, std::string(answered.message())));
  }
}

absl::Status MeetingServer::answer(int guest, const std::string& message) {
  switch (kind_of(message)) {
    case MeetingMessage::kAsk:
      send(guest, message_of(MeetingMessage::kMissing,
                             missing(guests_[guest].meeting)));
      return absl::OkStatus();
    case MeetingMessage::kCard: {
      HVD_ASSIGN_OR_RETURN(Card card, card_in(message));
      return seat(guest, std::move(card));
    }
    default:
      return room_.take(guest, message);
  }
}

int MeetingServer::size_of(std::uint32_t meeting) const {
  return meeting < WaitingRoom::kFirstNumber ? options_.size
                                             : room_.size_of(meeting);
}

absl::Status MeetingServer::seat(int guest, Card card) {
  const std::string name = card.peer.to_string(card.rank);
  Guest& self = guests_[guest];
  const int size = size_of(self.meeting);
  if (size == 0) {
    return absl::FailedPreconditionError("the growth has been given up");
  }
  if (card.size != size) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " expects a job of ", card.size, " ranks, which has ", size,
        ": start all ranks by one launcher"));
  }
  if (card.rank < 0 || card.rank >= size) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no rank ", card.rank, " in a job of ", size));
  }
  if (self.rank >= 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is here already as rank ", self.rank));
  }
  Meeting& meeting = meetings_[self.meeting];
  meeting.cards.resize(static_cast<std::size_t>(size));
  auto& place = meeting.cards[static_cast<std::size_t>(card.rank)];
  if (place.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another process is ", place->peer.to_string(card.rank), " already"));
  }
  self.rank = card.rank;
  place = std::move(card);
  if (++meeting.present == size) send_tables(self.meeting);
  return absl::OkStatus();
}

void MeetingServer::send_tables(std::uint32_t number) {
  std::vector<Card> table;
  for (auto& card : meetings_[number].cards) table.push_back(*std::move(card));
  meetings_.erase(number);
  const std::string message = message_of(table);
  for (auto& [id, guest] : guests_) {
    if (guest.meeting == number && guest.rank >= 0) send(id, message);
  }
}

void MeetingServer::send(int guest, const std::string& message) {
  FrameStream& stream = *guests_[guest].stream;
  stream.send({.kind = FrameKind::kMail}, message);
  // An error shows again when the guest is served.
  stream.write().IgnoreError();
  watch(stream.descriptor(), static_cast<std::uint64_t>(guest),
        stream.has_unsent(), EPOLL_CTL_MOD);
}

void MeetingServer::leave(int guest) {
  const Guest& self = guests_[guest];
  const auto meeting = meetings_.find(self.meeting);
  if (self.rank >= 0 && meeting != meetings_.end()) {
    meeting->second.cards[static_cast<std::size_t>(self.rank)].reset();
    if (--meeting->second.present == 0) meetings_.erase(meeting);
  }
  guests_.erase(guest);
  room_.left(guest);
}

std::string MeetingServer::missing(std::uint32_t number) const {
  std::vector<int> ranks;
  const auto meeting = meetings_.find(number);
  const int size = size_of(number);
  for (int rank = 0; rank < size; ++rank) {
    if (meeting == meetings_.end() || meeting->second.cards.empty() ||
        !meeting->second.cards[static_cast<std::size_t>(rank)].has_value()) {
      ranks.push_back(rank);
    }
  }
  return absl::StrCat(
      "only ", size - static_cast<int>(ranks.size()), " of ", size,
      " ranks came in time; missing: ",
      absl::StrJoin(ranks, ", ", [](std::string* out, int rank) {
        absl::StrAppend(out, "rank ", rank);
      }));
}

}  // namespace hvd::transport
