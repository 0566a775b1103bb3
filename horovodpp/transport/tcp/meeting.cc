// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/local/frame_stream.h"
#include "horovodpp/transport/tcp/card.h"
#include "horovodpp/transport/tcp/introductions.h"

namespace hvd::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Tags of introductions: a rank that this one calls, or one of these.
constexpr int kServer = -1;
constexpr int kHigherRank = -2;

// Pause before all addresses of an end are tried again.
constexpr milliseconds kBetweenCalls(50);
// The longest sleeps, without and with an interrupt.
constexpr milliseconds kLongestWait(1000);
constexpr milliseconds kInterruptInterval(10);
// Time for the server's answer to the question who is missing.
constexpr milliseconds kAnswerTimeout(1000);
// A rank is called at all its addresses at once. The byte tells it which of the
// connections the caller keeps.
constexpr char kKept = 'k';

// The attempts to reach one end at its addresses.
struct Calls {
  std::vector<Endpoint> endpoints;
  std::size_t open = 0;  // Attempts that have not ended.
  steady_clock::time_point next{};
  std::string failing{};  // Why attempts of this round have failed,
  std::string failed{};   // and of the last one.
};

// The server's messages.
class Mailbox : public FrameReader {
 public:
  std::byte* memory_for(int, const FrameHeader&) override { return nullptr; }
  void arrived(int, const FrameHeader&, std::string bytes) override {
    messages_.push_back(std::move(bytes));
  }
  std::vector<std::string> take() { return std::exchange(messages_, {}); }

 private:
  std::vector<std::string> messages_;
};

class Meeting {
 public:
  explicit Meeting(const TcpMeeting& terms)
      : terms_(terms),
        mine_{.rank = terms.rank, .meeting = terms.number},
        introductions_(terms_.key),
        sockets_(static_cast<std::size_t>(terms.size)) {
    calls_[kServer].endpoints = terms.server;
  }

  absl::StatusOr<std::vector<ConnectedRank>> hold() {
    HVD_ASSIGN_OR_RETURN(listener_, listen_at(terms_.interfaces));
    while (missing() > 0 || table_.empty()) {
      HVD_RETURN_IF_ERROR(call());
      HVD_RETURN_IF_ERROR(take_callers());
      HVD_RETURN_IF_ERROR(introduce());
      hear_callers();
      HVD_RETURN_IF_ERROR(hear_server());
      if (missing() == 0 && !table_.empty()) break;
      if (terms_.interrupt) HVD_RETURN_IF_ERROR(terms_.interrupt());
      if (steady_clock::now() >= terms_.deadline) return too_late();
      wait();
    }
    return ranks();
  }

 private:
  struct Unkept {
    int rank = 0;
    OwnedDescriptor socket;
  };

  OwnedDescriptor& socket(int rank) {
    return sockets_[static_cast<std::size_t>(rank)];
  }
  int missing() const {
    const auto there =
        std::count_if(sockets_.begin(), sockets_.end(),
                      [](const OwnedDescriptor& one) { return one.is_open(); });
    return terms_.size - 1 - static_cast<int>(there);
  }

  // Calls the ends whose calls have all failed.
  absl::Status call() {
    const auto now = steady_clock::now();
    for (auto& [tag, calls] : calls_) {
      if (calls.open > 0 || now < calls.next) continue;
      calls.next = now + kBetweenCalls;
      if (!calls.failing.empty())
        calls.failed = std::exchange(calls.failing, "");
      for (const Endpoint& endpoint : calls.endpoints) {
        auto socket = begin_to_connect(endpoint);
        if (!socket.ok()) {
          add_failure(calls, socket.status());
          continue;
        }
        HVD_RETURN_IF_ERROR(introductions_.add(
            *std::move(socket), Handshake::Side::kCaller, mine_, tag));
        ++calls.open;
      }
    }
    return absl::OkStatus();
  }

  static void add_failure(Calls& calls, const absl::Status& why) {
    absl::StrAppend(&calls.failing, calls.failing.empty() ? "" : "; ",
                    why.message());
  }

  absl::Status take_callers() {
    while (true) {
      HVD_ASSIGN_OR_RETURN(OwnedDescriptor socket,
                           accept_from(listener_.socket));
      if (!socket.is_open()) return absl::OkStatus();
      HVD_RETURN_IF_ERROR(introductions_.add(
          std::move(socket), Handshake::Side::kListener, mine_, kHigherRank));
    }
  }

  absl::Status introduce() {
    for (Introductions::Outcome& outcome : introductions_.proceed()) {
      if (outcome.tag == kHigherRank) {
        take_call(outcome);
      } else if (const auto calls = calls_.find(outcome.tag);
                 calls != calls_.end()) {
        HVD_RETURN_IF_ERROR(take_answer(calls->second, outcome));
      }
    }
    return absl::OkStatus();
  }

  void take_call(Introductions::Outcome& outcome) {
    const int rank = outcome.other.rank;
    if (!outcome.status.ok() || outcome.other.meeting != terms_.number ||
        rank <= terms_.rank || rank >= terms_.size) {
      return;
    }
    unkept_.push_back({.rank = rank, .socket = std::move(outcome.socket)});
  }

  absl::Status take_answer(Calls& calls, Introductions::Outcome& outcome) {
    const int tag = outcome.tag;
    --calls.open;
    const int expected = tag == kServer ? Caller::kServer : tag;
    if (!outcome.status.ok() || outcome.other.rank != expected) {
      // Another program at the server's address, or another job's.
      if (tag == kServer && !absl::IsUnavailable(outcome.status)) {
        return annotate(outcome.status, "the meeting server");
      }
      add_failure(calls, outcome.status.ok()
                             ? absl::UnavailableError("another rank answers")
                             : outcome.status);
      return absl::OkStatus();
    }
    introductions_.drop(tag);
    calls_.erase(tag);
    if (tag == kServer) {
      enter(std::move(outcome.socket));
      return absl::OkStatus();
    }
    if (::send(outcome.socket.number(), &kKept, 1, MSG_NOSIGNAL) == 1) {
      socket(tag) = std::move(outcome.socket);
    }
    return absl::OkStatus();
  }

  void enter(OwnedDescriptor connection) {
    server_ =
        std::make_unique<FrameStream>(kServer, std::move(connection), mailbox_);
    server_->send({.kind = FrameKind::kMail},
                  message_of(Card{.rank = terms_.rank,
                                  .size = terms_.size,
                                  .peer = terms_.self,
                                  .endpoints = listener_.endpoints,
                                  .contact = terms_.contact}));
  }

  void hear_callers() {
    std::erase_if(unkept_, [this](Unkept& caller) {
      char byte = 0;
      const ssize_t got =
          ::recv(caller.socket.number(), &byte, 1, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
      if (got == 1 && byte == kKept) {
        socket(caller.rank) = std::move(caller.socket);
      }
      return true;
    });
  }

  absl::Status hear_server() {
    if (server_ == nullptr) return absl::OkStatus();
    HVD_RETURN_IF_ERROR(server_->write());
    HVD_RETURN_IF_ERROR(server_->read());
    for (const std::string& message : mailbox_.take()) {
      switch (kind_of(message)) {
        case MeetingMessage::kTable: {
          HVD_RETURN_IF_ERROR(take_table(message));
          break;
        }
        case MeetingMessage::kMissing:
          missing_text_ = text_in(message);
          break;
        default:
          return absl::FailedPreconditionError(text_in(message));
      }
    }
    if (server_->is_at_end() && table_.empty()) {
      return absl::UnavailableError(
          "the meeting server has ended before all ranks had met: look at the "
          "launcher's own messages");
    }
    return absl::OkStatus();
  }

  absl::Status take_table(const std::string& message) {
    HVD_ASSIGN_OR_RETURN(std::vector<Card> table, table_in(message));
    if (static_cast<int>(table.size()) != terms_.size) {
      return absl::InternalError("the meeting server's table is incomplete");
    }
    table_ = std::move(table);
    for (int rank = 0; rank < terms_.rank; ++rank) {
      const Card& card = table_[static_cast<std::size_t>(rank)];
      Calls& calls = calls_[rank];
      calls.endpoints = card.endpoints;
      if (card.peer.node == terms_.self.node && !card.endpoints.empty()) {
        calls.endpoints.push_back(
            {.address = kLoopbackAddress, .port = card.endpoints.front().port});
      }
    }
    return absl::OkStatus();
  }

  void wait() {
    std::vector<pollfd> awaited = {
        {listener_.socket.number(), POLLIN, 0},
        {introductions_.descriptor(), POLLIN, 0},
    };
    if (server_ != nullptr) {
      const short events = server_->has_unsent() ? POLLIN | POLLOUT : POLLIN;
      if (!server_->is_at_end()) {
        awaited.push_back({server_->descriptor(), events, 0});
      }
    }
    for (const Unkept& caller : unkept_) {
      awaited.push_back({caller.socket.number(), POLLIN, 0});
    }
    const auto longest = terms_.interrupt ? kInterruptInterval : kLongestWait;
    auto until = std::min(terms_.deadline, steady_clock::now() + longest);
    for (const auto& [tag, calls] : calls_) {
      if (calls.open == 0) until = std::min(until, calls.next);
    }
    const auto left =
        std::chrono::ceil<milliseconds>(until - steady_clock::now());
    ::poll(awaited.data(), awaited.size(),
           static_cast<int>(std::max(left, milliseconds(0)).count()));
  }

  absl::Status too_late() {
    if (server_ == nullptr) {
      return absl::DeadlineExceededError(
          absl::StrCat("the meeting server could not be reached at ",
                       addresses(terms_.server), ": ", why(kServer)));
    }
    if (table_.empty()) return absl::DeadlineExceededError(who_is_missing());
    std::vector<std::string> unmet;
    for (int rank = 0; rank < terms_.size; ++rank) {
      if (rank == terms_.rank || socket(rank).is_open()) continue;
      const Card& card = table_[static_cast<std::size_t>(rank)];
      unmet.push_back(rank < terms_.rank
                          ? absl::StrCat(card.peer.to_string(rank), " at ",
                                         addresses(card.endpoints), ": ",
                                         why(rank))
                          : absl::StrCat(card.peer.to_string(rank),
                                         ", which does not reach this rank at ",
                                         addresses(listener_.endpoints)));
    }
    return absl::DeadlineExceededError(absl::StrCat(
        "no connection to ", absl::StrJoin(unmet, ", nor to "),
        ". Choose the interfaces over which the hosts reach each other "
        "(horovodrun --network-interface), and open the firewall between "
        "them"));
  }

  std::string who_is_missing() {
    server_->send({.kind = FrameKind::kMail}, message_of(MeetingMessage::kAsk));
    const auto until = steady_clock::now() + kAnswerTimeout;
    while (missing_text_.empty() && steady_clock::now() < until &&
           hear_server().ok()) {
      pollfd awaited = {server_->descriptor(), POLLIN, 0};
      ::poll(&awaited, 1, 10);
    }
    return missing_text_.empty() ? "not all ranks came in time" : missing_text_;
  }

  std::string why(int tag) const {
    const auto calls = calls_.find(tag);
    if (calls == calls_.end()) return "no answer";
    const Calls& found = calls->second;
    const std::string& text =
        found.failing.empty() ? found.failed : found.failing;
    return text.empty() ? "no answer" : text;
  }

  static std::string addresses(const std::vector<Endpoint>& endpoints) {
    return absl::StrJoin(endpoints, ", ",
                         [](std::string* out, const Endpoint& endpoint) {
                           absl::StrAppend(out, to_string(endpoint));
                         });
  }

  std::vector<ConnectedRank> ranks() {
    std::vector<ConnectedRank> ranks;
    for (int rank = 0; rank < terms_.size; ++rank) {
      const Card& card = table_[static_cast<std::size_t>(rank)];
      ranks.push_back({.peer = card.peer,
                       .socket = std::move(socket(rank)),
                       .is_near = card.peer.node == terms_.self.node,
                       .contact = card.contact});
    }
    return ranks;
  }

  const TcpMeeting& terms_;
  const Caller mine_;
  Introductions introductions_;
  TcpListener listener_;
  std::map<int, Calls> calls_;
  Mailbox mailbox_;
  std::unique_ptr<FrameStream> server_;
  std::string missing_text_;
  std::vector<Card> table_;
  std::vector<OwnedDescriptor> sockets_;
  std::vector<Unkept> unkept_;
};

}  // namespace

absl::StatusOr<std::vector<ConnectedRank>> meet_by_tcp(
    const TcpMeeting& meeting) {
  if (meeting.rank < 0 || meeting.rank >= meeting.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no rank ", meeting.rank, " in a job of ", meeting.size));
  }
  return Meeting(meeting).hold();
}

}  // namespace hvd::transport
