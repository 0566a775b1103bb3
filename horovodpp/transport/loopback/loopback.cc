// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loopback/loopback.h"

#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/transport/loopback/shared.h"

namespace hvd::transport {

namespace {

std::vector<Peer> peers_of(int size, int ranks_per_node) {
  std::vector<Peer> peers;
  const std::string host = host_name();
  for (int rank = 0; rank < size; ++rank) {
    const int node = ranks_per_node > 0 ? rank / ranks_per_node : 0;
    peers.push_back({.host = host,
                     .pid = ::getpid(),
                     .node = absl::StrCat(host, "#", node)});
  }
  return peers;
}

// One rank's end.
class LoopbackCommunicator : public Communicator {
 public:
  LoopbackCommunicator(std::shared_ptr<LoopbackShared> world, int rank)
      : world_(std::move(world)), rank_(rank) {}

  ~LoopbackCommunicator() override {
    stop_watching();
    world_->abandon_all(rank_);
  }

  int rank() const override { return rank_; }
  const std::vector<Peer>& peers() const override { return world_->peers(); }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    return world_->exchange(rank_, mine, deadline);
  }

  absl::Status send_mail(int to, std::string bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    world_->send_mail(rank_, to, std::move(bytes));
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<Mail>> receive_mail() override {
    HVD_RETURN_IF_ERROR(unwatched_);
    return world_->receive_mail(rank_);
  }
  absl::StatusOr<bool> mail_is_flushed() override { return true; }

  absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    return world_->post_send(rank_, to, tag, bytes);
  }
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    return world_->post_receive(rank_, from, tag, bytes);
  }
  absl::StatusOr<bool> test(TransferId id) override {
    return world_->test(rank_, id);
  }
  bool abandon(TransferId id) override {
    world_->abandon(rank_, id);
    return true;
  }

  void on_peer_lost(LostCallback callback) override {
    stop_watching();
    if (!callback || size() == 1) return;
    watcher_ = {.rank = rank_, .notified = {}};
    auto thread = start_thread(
        "watches the other ranks", [this, callback = std::move(callback)] {
          while (const auto death = world_->next_death(watcher_)) {
            callback(death->first, death->second);
          }
        });
    unwatched_ = thread.status();
    if (thread.ok()) thread_ = *std::move(thread);
  }

 private:
  void stop_watching() {
    if (!thread_.joinable()) return;
    world_->stop(watcher_);
    thread_.join();
  }

  std::shared_ptr<LoopbackShared> world_;
  const int rank_;
  LoopbackShared::Watcher watcher_;  // Guarded by the world's lock.
  std::thread thread_;
  absl::Status unwatched_;  // Why deaths cannot be detected, if so.
};

}  // namespace

LoopbackWorld::LoopbackWorld(int size, Options options)
    : shared_(std::make_shared<LoopbackShared>(
          peers_of(size, options.ranks_per_node))) {}

LoopbackWorld::~LoopbackWorld() = default;

std::unique_ptr<Communicator> LoopbackWorld::communicator(int rank) {
  if (!shared_->hand_out(rank)) return nullptr;
  return std::make_unique<LoopbackCommunicator>(shared_, rank);
}

void LoopbackWorld::kill(int rank, const std::string& how) {
  shared_->kill(rank, how);
}

std::unique_ptr<Communicator> make_solo_communicator() {
  return LoopbackWorld(1).communicator(0);
}

}  // namespace hvd::transport
