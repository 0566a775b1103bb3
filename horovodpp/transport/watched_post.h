// SPDX-License-Identifier: Apache-2.0
// A post whose exchange ends when a rank has died.
//
// Driven by one thread; lost() comes from any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/transport/mail_exchange.h"

namespace hvd::transport {

// How often something is looked for that may be on its way when a rank has died:
// its last words, say.
inline constexpr int kPollsForLastWords = 100;

class WatchedPost : public ExchangePost {
 public:
  // `post` is borrowed.
  explicit WatchedPost(ExchangePost& post) : post_(post) {}

  int rank() const override { return post_.rank(); }
  const std::vector<Peer>& peers() const override { return post_.peers(); }
  absl::Status send(int to, std::string bytes) override;
  absl::StatusOr<std::optional<Mail>> receive() override;
  absl::StatusOr<bool> flushed() override;

  // How the caller sees that ranks die.
  struct Watch {
    // Why it cannot, if it cannot.
    absl::Status seeing = {};
    // Has a callback told of deaths, or nobody any more; none if that is done already.
    std::function<void(Communicator::LostCallback)> listen = {};
  };
  // The next round of an exchange_by_mail(), which ends when a rank dies. A rank that
  // cannot see that takes no part in a job: it tells the others so, and returns it.
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
