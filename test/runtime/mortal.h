// SPDX-License-Identifier: Apache-2.0
// Wires of a rank that can die: at once, or when it sends its n-th message from
// now on.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/runtime/relayed_wires.h"

namespace hvd {

class Mortal : public RelayedWires {
 public:
  struct Options {
    // Whether deaths on other nodes stay unseen, as between real hosts.
    bool near_sighted = false;
    // Whether the wires never report sent mail as flushed, as with mail to dead
    // ranks.
    bool never_flushed = false;
    // The thread that finds its rank dead blocks until this latch opens, and so
    // cannot report the death through shared memory. nullptr: it goes on.
    std::latch* stands_still_until = nullptr;
  };

  Mortal(transport::LoopbackWorld& world, int rank, const Options& options)
      : RelayedWires(world.communicator(rank)),
        world_(world),
        options_(options) {}

  // Thread-safe.
  void die_after(int messages) { left_.store(messages); }
  void die() {
    world_.kill(rank());
    dead_.store(true);
  }

  absl::Status send_mail(int to, std::string bytes) override {
    if (left_.fetch_sub(1) == 0) die();
    if (dead_.load()) return gone();
    return RelayedWires::send_mail(to, std::move(bytes));
  }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    if (dead_.load()) return gone();
    return RelayedWires::receive_mail();
  }
  absl::StatusOr<bool> mail_is_flushed() override {
    if (dead_.load()) return gone();
    if (options_.never_flushed) return false;
    return RelayedWires::mail_is_flushed();
  }
  absl::StatusOr<bool> test(transport::TransferId id) override {
    if (dead_.load()) return gone();
    return RelayedWires::test(id);
  }
  void on_peer_lost(LostCallback callback) override {
    if (!callback || !options_.near_sighted) {
      return RelayedWires::on_peer_lost(std::move(callback));
    }
    RelayedWires::on_peer_lost([this, callback = std::move(callback)](
                                   int lost, const std::string& how) {
      const auto node = [&](int rank) {
        return peers()[static_cast<std::size_t>(rank)].node;
      };
      if (node(lost) == node(rank())) callback(lost, how);
    });
  }

 private:
  absl::Status gone() const {
    if (options_.stands_still_until != nullptr) {
      options_.stands_still_until->wait();
    }
    return absl::AbortedError("is dead");
  }

  transport::LoopbackWorld& world_;
  const Options options_;
  std::atomic<int> left_{-1};
  std::atomic<bool> dead_{false};
};

}  // namespace hvd
