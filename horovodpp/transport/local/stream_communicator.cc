// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/stream_communicator.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/local/connection_watch.h"
#include "horovodpp/transport/local/frame_stream.h"
#include "horovodpp/transport/local/transfers.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/system/peer_watch.h"
#include "horovodpp/transport/system/tcp_use.h"
#include "horovodpp/transport/watched_post.h"

namespace hvd::transport {
namespace {

constexpr int kMaxEvents = 64;

std::vector<Peer> peers_of(const std::vector<ConnectedRank>& ranks) {
  std::vector<Peer> peers;
  for (const ConnectedRank& rank : ranks) peers.push_back(rank.peer);
  return peers;
}

std::vector<DatagramBeats::Contact> contacts_of(
    const std::vector<ConnectedRank>& ranks) {
  std::vector<DatagramBeats::Contact> contacts;
  for (const ConnectedRank& rank : ranks) contacts.push_back(rank.contact);
  return contacts;
}

// Ranks may be threads of this process, whose deaths cannot be watched.
std::vector<PeerWatch::Process> near_processes(
    const std::vector<ConnectedRank>& ranks) {
  std::vector<PeerWatch::Process> processes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const ConnectedRank& rank = ranks[i];
    if (!rank.socket.is_open() || !rank.is_near) continue;
    if (rank.peer.pid == ::getpid()) continue;
    processes.push_back({.rank = static_cast<int>(i), .pid = rank.peer.pid});
  }
  return processes;
}

std::vector<ConnectionWatch::Connection> far_connections(
    const std::vector<ConnectedRank>& ranks) {
  std::vector<ConnectionWatch::Connection> connections;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].socket.is_open() || ranks[i].is_near) continue;
    connections.push_back(
        {.rank = static_cast<int>(i), .socket = ranks[i].socket.number()});
  }
  return connections;
}

class StreamCommunicator : public Communicator,
                           private FrameReader,
                           private ExchangePost {
 public:
  StreamCommunicator(int rank, std::vector<ConnectedRank> ranks,
                     std::unique_ptr<DatagramBeats> beats)
      : rank_(rank),
        peers_(peers_of(ranks)),
        contacts_(contacts_of(ranks)),
        beats_(std::move(beats)),
        processes_(near_processes(ranks), WatchedProcess::open,
                   ranks.size() > 1 ? std::optional(rank) : std::nullopt),
        streams_(ranks.size()),
        transfers_(rank_, streams_),
        post_(static_cast<ExchangePost&>(*this)),
        events_(::epoll_create1(EPOLL_CLOEXEC)),
        connections_(far_connections(ranks)) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!ranks[i].socket.is_open()) continue;
      const int number = static_cast<int>(i);
      streams_[i] = std::make_unique<FrameStream>(
          number, std::move(ranks[i].socket), static_cast<FrameReader&>(*this));
      add_event(number);
    }
  }

  ~StreamCommunicator() override {
    on_peer_lost({});
    if (!has_open_descriptors()) events_.abandon();
  }

  const absl::Status& ready() const { return ready_; }

  int rank() const override { return rank_; }
  const std::vector<Peer>& peers() const override { return peers_; }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    WatchedPost::Watch watch = {.status = seeing()};
    if (!watched_) {
      watch.listen = [this](LostCallback callback) {
        on_peer_lost(std::move(callback));
      };
    }
    return post_.exchange(mine, deadline, watch);
  }

  absl::Status send_mail(int to, std::string bytes) override {
    return send(FrameKind::kMail, to, std::move(bytes));
  }

  absl::StatusOr<std::optional<Mail>> receive_mail() override {
    return next(mail_);
  }

  absl::StatusOr<bool> mail_is_flushed() override { return flushed(); }

  absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    const TransferId id = transfers_.post_send(to, tag, bytes);
    if (to != rank_) HVD_RETURN_IF_ERROR(write(stream(to)));
    return id;
  }

  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    return transfers_.post_receive(from, tag, bytes);
  }

  // While a transfer waits, most looks are at its peer's socket alone, which
  // saves a system call.
  absl::StatusOr<bool> test(TransferId id) override {
    constexpr unsigned kLooksPerSweep = 8;
    const std::optional<int> peer = transfers_.awaited_peer(id);
    if (peer.has_value()) {
      HVD_RETURN_IF_ERROR(++looks_ % kLooksPerSweep == 0
                              ? move_on()
                              : explained(attend(stream(*peer))));
    }
    return transfers_.test(id);
  }

  bool abandon(TransferId id) override {
    transfers_.abandon(id);
    return true;
  }

  void on_peer_lost(LostCallback callback) override {
    watched_ = callback != nullptr;
    processes_.watch(callback);
    connections_.watch(std::move(callback));
  }

  bool has_open_descriptors() const override {
    return processes_.has_open_descriptors();
  }

  std::string caveat() const override { return processes_.caveat(); }

  std::vector<LinkUse> link_uses() const override {
    std::vector<LinkUse> uses;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i] == nullptr) continue;
      const auto use = tcp_use(static_cast<int>(i), streams_[i]->descriptor());
      if (use) uses.push_back(*use);
    }
    return uses;
  }

  void send_beat(int to) override {
    if (beats_ == nullptr) return;
    beats_->send(contacts_[static_cast<std::size_t>(to)], rank_);
  }
  std::vector<int> receive_beats() override {
    return beats_ == nullptr ? std::vector<int>() : beats_->receive();
  }

 private:
  // Whether the deaths of all ranks can be detected.
  absl::Status seeing() const {
    absl::Status status = processes_.status();
    status.Update(connections_.status());
    return status;
  }

  FrameStream& stream(int rank) const {
    return *streams_[static_cast<std::size_t>(rank)];
  }

  void add_event(int rank) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(rank);
    if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, stream(rank).descriptor(),
                    &event) != 0) {
      ready_.Update(errno_error("epoll_ctl"));
    }
  }

  absl::Status send(FrameKind kind, int to, std::string bytes) {
    HVD_RETURN_IF_ERROR(check_rank(to));
    if (to == rank_) {
      (kind == FrameKind::kMail ? mail_ : exchange_mail_)
          .push_back({.from = to, .bytes = std::move(bytes)});
      return absl::OkStatus();
    }
    stream(to).send({.kind = kind}, std::move(bytes));
    return write(stream(to));
  }

  absl::StatusOr<std::optional<Mail>> next(std::deque<Mail>& mail) {
    if (mail.empty()) HVD_RETURN_IF_ERROR(move_on());
    if (mail.empty()) return std::nullopt;
    std::optional<Mail> first = std::move(mail.front());
    mail.pop_front();
    return first;
  }

  static absl::Status attend(FrameStream& stream) {
    if (stream.has_unsent()) HVD_RETURN_IF_ERROR(stream.write());
    return stream.read();
  }

  // `status`, unless closed descriptors explain it.
  absl::Status explained(absl::Status status) const {
    if (status.ok() || has_open_descriptors()) return status;
    return absl::AbortedError(
        absl::StrCat(peers_[static_cast<std::size_t>(rank_)].to_string(rank_),
                     " ", kClosedDescriptors));
  }

  absl::Status write(FrameStream& stream) const {
    return explained(stream.write());
  }

  // Writes to sockets with room, and reads arrived bytes.
  absl::Status move_on() { return explained(write_and_read()); }

  absl::Status write_and_read() {
    for (const auto& wire : streams_) {
      if (wire != nullptr && wire->has_unsent()) {
        HVD_RETURN_IF_ERROR(wire->write());
      }
    }
    std::array<epoll_event, kMaxEvents> events;
    const int count =
        ::epoll_wait(events_.number(), events.data(), kMaxEvents, 0);
    if (count < 0 && errno != EINTR) return errno_error("epoll_wait");
    for (int i = 0; i < count; ++i) {
      const int from =
          static_cast<int>(events[static_cast<std::size_t>(i)].data.u32);
      HVD_RETURN_IF_ERROR(stream(from).read());
      if (!stream(from).is_at_end()) continue;
      ::epoll_ctl(events_.number(), EPOLL_CTL_DEL, stream(from).descriptor(),
                  nullptr);
    }
    return absl::OkStatus();
  }

  // --- FrameReader ---

  std::byte* memory_for(int from, const FrameHeader& header) override {
    return header.kind == FrameKind::kData ? transfers_.memory_for(from, header)
                                           : nullptr;
  }

  void arrived(int from, const FrameHeader& header,
               std::string bytes) override {
    if (header.kind == FrameKind::kData) {
      transfers_.arrived(from, header, std::move(bytes));
    } else {
      (header.kind == FrameKind::kMail ? mail_ : exchange_mail_)
          .push_back({.from = from, .bytes = std::move(bytes)});
    }
  }

  // --- ExchangePost ---

  absl::Status send(int to, std::string bytes) override {
    return send(FrameKind::kExchange, to, std::move(bytes));
  }

  absl::StatusOr<std::optional<Mail>> receive() override {
    return next(exchange_mail_);
  }

  absl::StatusOr<bool> flushed() override {
    HVD_RETURN_IF_ERROR(move_on());
    for (const auto& wire : streams_) {
      if (wire != nullptr && wire->has_unsent()) return false;
    }
    return true;
  }

  const int rank_;
  const std::vector<Peer> peers_;
  const std::vector<DatagramBeats::Contact> contacts_;
  const std::unique_ptr<DatagramBeats> beats_;
  PeerWatch processes_;
  LocalTransfers::Streams streams_;
  LocalTransfers transfers_;
  WatchedPost post_;
  OwnedDescriptor events_;
  ConnectionWatch connections_;  // Of the streams' sockets.
  absl::Status ready_;
  std::deque<Mail> mail_;
  std::deque<Mail> exchange_mail_;
  bool watched_ = false;  // A callback for losses is set.
  unsigned looks_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_stream_communicator(
    int rank, std::vector<ConnectedRank> ranks,
    std::unique_ptr<DatagramBeats> beats) {
  auto communicator = std::make_unique<StreamCommunicator>(
      rank, std::move(ranks), std::move(beats));
  HVD_RETURN_IF_ERROR(communicator->ready());
  return communicator;
}

}  // namespace hvd::transport
