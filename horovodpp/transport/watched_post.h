// SPDX-License-Identifier: Apache-2.0
// A WatchedPost is an exchange's mail that fails when a rank has died.
//
// Driven by one thread; lost() comes from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/mail_exchange.h"

namespace hvd::transport {

// How often to look for messages in transit from a dead rank, such as its last
// words.
inline constexpr int kPollsAfterDeath = 100;

class WatchedPost : public ExchangePost {
 public:
  // `post` is borrowed.
  explicit WatchedPost(ExchangePost& post) : post_(post) {}

  int rank() const override { return post_.rank(); }
  const std::vector<Peer>& peers() const override { return post_.peers(); }
  absl::Status send(int to, std::string bytes) override;
  absl::StatusOr<std::optional<Mail>> receive() override;
  absl::StatusOr<bool> flushed() override;

  // How the caller detects deaths.
  struct Watch {
    // The error, if deaths cannot be detected.
    absl::Status status = {};
    // Sets, or with an empty argument removes, the callback for deaths; empty
    // if it is set already.
    std::function<void(Communicator::LostCallback)> listen = {};
  };
  // The next round of exchange_by_mail(), which ends when a rank dies. A rank
  // that cannot detect deaths takes no part in a job: it tells the other ranks,
  // and returns that error.
  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine, std::chrono::steady_clock::time_point deadline,
      const Watch& watch);

  // Rank `rank` has died.
  void lost(int rank, const std::string& how);

 private:
  std::string loss();

  ExchangePost& post_;
  std::uint32_t round_ = 0;
  int polls_after_loss_ = 0;
  Mutex mutex_;
  std::string loss_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::transport
