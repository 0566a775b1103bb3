// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/communicator.h"

#include <sys/epoll.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/local/frame_stream.h"
#include "horovodpp/transport/local/socket.h"
#include "horovodpp/transport/local/transfers.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/system/host.h"
#include "horovodpp/transport/system/peer_watch.h"
#include "horovodpp/transport/watched_post.h"

namespace hvd::transport {
namespace {

constexpr int kMaxEvents = 64;

std::vector<Peer> peers_of(const LocalOptions& options,
                           const std::vector<LocalPeer>& met) {
  const std::string host = host_name();
  const std::string machine = machine_id(host);
  std::vector<Peer> peers;
  for (int rank = 0; rank < options.size; ++rank) {
    Peer& peer = peers.emplace_back();
    peer.host = host;
    peer.pid = rank == options.rank ? ::getpid()
                                    : met[static_cast<std::size_t>(rank)].pid;
    peer.node = machine;
    if (options.ranks_per_node > 0) {
      absl::StrAppend(&peer.node, "#", rank / options.ranks_per_node);
    }
  }
  return peers;
}

// Ranks may be threads of this process, whose deaths cannot be watched.
std::vector<PeerWatch::Process> others(const std::vector<LocalPeer>& met) {
  std::vector<PeerWatch::Process> processes;
  for (std::size_t rank = 0; rank < met.size(); ++rank) {
    if (met[rank].socket.is_open() && met[rank].pid != ::getpid()) {
      processes.push_back(
          {.rank = static_cast<int>(rank), .pid = met[rank].pid});
    }
  }
  return processes;
}

class LocalCommunicator : public Communicator,
                          private FrameReader,
                          private ExchangePost {
 public:
  LocalCommunicator(const LocalOptions& options, std::vector<LocalPeer> met)
      : rank_(options.rank),
        peers_(peers_of(options, met)),
        watch_(others(met)),
        streams_(met.size()),
        transfers_(rank_, streams_),
        post_(static_cast<ExchangePost&>(*this)),
        events_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t rank = 0; rank < met.size(); ++rank) {
      if (!met[rank].socket.is_open()) continue;
      const int number = static_cast<int>(rank);
      streams_[rank] =
          std::make_unique<FrameStream>(number, std::move(met[rank].socket),
                                        static_cast<FrameReader&>(*this));
      add_event(number);
    }
  }

  ~LocalCommunicator() override { watch_.watch({}); }

  const absl::Status& ready() const { return ready_; }

  int rank() const override { return rank_; }
  const std::vector<Peer>& peers() const override { return peers_; }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    WatchedPost::Watch watch = {.status = watch_.status()};
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
    if (to != rank_) HVD_RETURN_IF_ERROR(stream(to).write());
    return id;
  }

  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    return transfers_.post_receive(from, tag, bytes);
  }

  absl::StatusOr<bool> test(TransferId id) override {
    HVD_RETURN_IF_ERROR(move_on());
    return transfers_.test(id);
  }

  bool abandon(TransferId id) override {
    transfers_.abandon(id);
    return true;
  }

  void on_peer_lost(LostCallback callback) override {
    watched_ = callback != nullptr;
    watch_.watch(std::move(callback));
  }

  std::string caveat() const override { return watch_.caveat(); }

 private:
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
    return stream(to).write();
  }

  absl::StatusOr<std::optional<Mail>> next(std::deque<Mail>& mail) {
    if (mail.empty()) HVD_RETURN_IF_ERROR(move_on());
    if (mail.empty()) return std::nullopt;
    std::optional<Mail> first = std::move(mail.front());
    mail.pop_front();
    return first;
  }

  // Writes where there is room, and reads what has arrived.
  absl::Status move_on() {
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
  PeerWatch watch_;
  LocalTransfers::Streams streams_;
  LocalTransfers transfers_;
  WatchedPost post_;
  OwnedDescriptor events_;
  absl::Status ready_;
  std::deque<Mail> mail_;
  std::deque<Mail> exchange_mail_;
  bool watched_ = false;  // A callback for losses is set.
};

// How often each rank of this process has met the others, and which process it
// was. Each later meeting uses another name.
struct Meetings {
  struct Held {
    int count = 0;
    pid_t by = 0;
  };
  Mutex mutex;
  std::map<std::pair<std::string, int>, Held> held ABSL_GUARDED_BY(mutex);
};

Meetings& meetings() {
  static Meetings* const instance = new Meetings;
  return *instance;
}

absl::StatusOr<int> next_meeting(const LocalOptions& options) {
  MutexLock lock(meetings().mutex);
  const Meetings::Held held =
      meetings().held[{options.rendezvous, options.rank}];
  if (held.count == 0 || held.by == ::getpid()) return held.count;
  return absl::FailedPreconditionError(
      absl::StrCat("process ", ::getpid(), " was forked from process ", held.by,
                   ", whose place in the job it cannot take; fork before "
                   "hvd::init(), or run "
                   "a program anew (exec) as a job of its own"));
}

void meeting_was_held(const LocalOptions& options) {
  MutexLock lock(meetings().mutex);
  Meetings::Held& held = meetings().held[{options.rendezvous, options.rank}];
  ++held.count;
  held.by = ::getpid();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_local_communicator(
    const LocalOptions& options) {
  HVD_ASSIGN_OR_RETURN(const int number, next_meeting(options));
  HVD_ASSIGN_OR_RETURN(
      std::vector<LocalPeer> met,
      meet_locally({.name = absl::StrCat(options.rendezvous, ".", number),
                    .rank = options.rank,
                    .size = options.size,
                    .deadline = options.deadline}));
  meeting_was_held(options);
  auto communicator =
      std::make_unique<LocalCommunicator>(options, std::move(met));
  HVD_RETURN_IF_ERROR(communicator->ready());
  return communicator;
}

}  // namespace hvd::transport
