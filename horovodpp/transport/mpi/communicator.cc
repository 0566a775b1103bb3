// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/communicator.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/call_meter.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/mpi/mailbox.h"
#include "horovodpp/transport/mpi/transfers.h"
#include "horovodpp/transport/mpi/world.h"
#include "horovodpp/transport/watched_post.h"

namespace hvd::transport {
namespace {

std::vector<Peer> peers_of(const std::vector<MpiWorld::Member>& members,
                           int ranks_per_node) {
  std::vector<Peer> peers;
  std::map<std::string, int> seen;
  for (const MpiWorld::Member& member : members) {
    Peer& peer = peers.emplace_back();
    peer.host = member.host;
    peer.pid = member.pid;
    peer.node = member.machine;
    const int index = seen[peer.node]++;
    if (ranks_per_node > 0) {
      absl::StrAppend(&peer.node, "#", index / ranks_per_node);
    }
  }
  return peers;
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MpiWorld& world, int ranks_per_node)
      : world_(world),
        peers_(peers_of(world.members(), ranks_per_node)),
        plain_post_({.comm = world.comm(),
                     .rank = world.rank(),
                     .tag = world.tags().exchange(world.generation()),
                     .generation = world.generation()},
                    peers_),
        post_(plain_post_),
        mailbox_({.comm = world.comm(),
                  .rank = world.rank(),
                  .tag = world.tags().mail(world.generation()),
                  .generation = world.generation()}),
        transfers_({.comm = world.comm(),
                    .rank = world.rank(),
                    .tags = world.tags(),
                    .generation = world.generation(),
                    .calls = &calls_}) {}

  ~MpiCommunicator() override {
    world_.watch().watch({});
    MpiMessages leftovers;
    plain_post_.give_up(leftovers);
    mailbox_.give_up(leftovers);
    transfers_.give_up(leftovers);
    world_.leave(std::move(leftovers));
  }

  int rank() const override { return world_.rank(); }
  const std::vector<Peer>& peers() const override { return peers_; }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    WatchedPost::Watch watch = {.status = world_.watch().status()};
    if (!watched_) {
      watch.listen = [this](LostCallback callback) {
        on_peer_lost(std::move(callback));
      };
    }
    return noted(post_.exchange(mine, deadline, watch));
  }

  absl::Status send_mail(int to, std::string bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    const CallMeter::Call call(calls_, "sending mail");
    return noted(mailbox_.send(to, std::move(bytes)));
  }
  // A poll for mail costs a system call, a poll for data another. While data
  // arrives, look for mail only once in several calls: successful transfers
  // need no mail.
  absl::StatusOr<std::optional<Mail>> receive_mail() override {
    constexpr int kCallsPerLook = 8;
    const std::uint64_t before =
        std::exchange(received_, transfers_.received());
    if (before != received_ && ++calls_without_look_ < kCallsPerLook) {
      return std::nullopt;
    }
    calls_without_look_ = 0;
    const CallMeter::Call call(calls_, "looking for mail");
    return noted(mailbox_.receive());
  }
  absl::StatusOr<bool> mail_is_flushed() override {
    const CallMeter::Call call(calls_, "looking after its mail");
    return noted(mailbox_.flushed());
  }

  void send_beat(int to) override { world_.send_beat(to); }
  std::vector<int> receive_beats() override { return world_.receive_beats(); }

  absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    const CallMeter::Call call(calls_, "sending data");
    return noted(transfers_.post_send(to, tag, bytes));
  }
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    const CallMeter::Call call(calls_, "receiving data");
    return noted(transfers_.post_receive(from, tag, bytes));
  }
  absl::StatusOr<bool> test(TransferId id) override {
    const CallMeter::Call call(calls_, "looking after its data");
    return noted(transfers_.test(id));
  }
  bool abandon(TransferId id) override { return transfers_.abandon(id); }

  bool has_open_descriptors() const override {
    return world_.watch().has_open_descriptors();
  }
  std::string caveat() const override { return world_.watch().caveat(); }
  const CallMeter* calls() const override { return &calls_; }
  void distrust() override { world_.distrust(); }

  void on_peer_lost(LostCallback callback) override {
    watched_ = callback != nullptr;
    if (!callback) {
      world_.watch().watch({});
      return;
    }
    world_.watch().watch([world = &world_, callback = std::move(callback)](
                             int rank, const std::string& how) {
      world->distrust();
      callback(rank, how);
    });
  }

 private:
  static const absl::Status& status_of(const absl::Status& status) {
    return status;
  }
  template <typename T>
  static const absl::Status& status_of(const absl::StatusOr<T>& value) {
    return value.status();
  }
  // Passes an outcome on. After a failure, MPI is not finalized. A failure with
  // a peer most likely means that the peer has ended.
  template <typename T>
  T noted(T outcome) {
    const absl::Status& status = status_of(outcome);
    if (const std::optional<int> peer = peer_of(status)) {
      world_.distrust();
      return absl::AbortedError(
          absl::StrCat(peers_[static_cast<std::size_t>(*peer)].to_string(*peer),
                       " cannot be reached: ", status.message()));
    }
    if (absl::IsInternal(status) || absl::IsDeadlineExceeded(status) ||
        absl::IsAborted(status)) {
      world_.distrust();
    }
    return outcome;
  }

  MpiWorld& world_;
  const std::vector<Peer> peers_;
  CallMeter calls_;
  std::uint64_t received_ = 0;  // At the last receive_mail().
  int calls_without_look_ = 0;
  bool watched_ = false;  // A callback for losses is set.
  MpiExchangePost plain_post_;
  WatchedPost post_;
  MpiMailbox mailbox_;
  MpiTransfers transfers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> join_mpi_world(
    const MpiOptions& options) {
  MpiWorld& world = MpiWorld::instance();
  HVD_RETURN_IF_ERROR(world.enter(options.expected_size, options.deadline));
  return std::make_unique<MpiCommunicator>(world, options.ranks_per_node);
}

}  // namespace hvd::transport
