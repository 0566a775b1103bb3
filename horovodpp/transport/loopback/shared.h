// SPDX-License-Identifier: Apache-2.0
// LoopbackShared is the state that the ranks of a LoopbackWorld (loopback.h)
// share: mailboxes, posted transfers, the rounds of exchange(), and dead ranks.
// Every method locks; none calls back. Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

class LoopbackShared {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // One rank for each of `peers`, by which the ranks know each other.
  explicit LoopbackShared(std::vector<Peer> peers);

  int size() const { return static_cast<int>(peers_.size()); }
  const std::vector<Peer>& peers() const { return peers_; }

  // False if the rank's communicator was handed out before, or the rank does
  // not exist.
  bool hand_out(int rank);

  absl::StatusOr<std::vector<std::string>> exchange(int rank,
                                                    const std::string& mine,
                                                    TimePoint deadline);
  void send_mail(int from, int to, std::string bytes);
  std::optional<Mail> receive_mail(int rank);

  // The ranks exist.
  TransferId post_send(int from, int to, DataTag tag,
                       std::span<const std::byte> bytes);
  TransferId post_receive(int to, int from, DataTag tag,
                          std::span<std::byte> bytes);
  absl::StatusOr<bool> test(int rank, TransferId id);
  void abandon(int rank, TransferId id);
  void abandon_all(int rank);

  void kill(int rank, const std::string& how);

  // One rank's view of deaths: next_death() blocks for a death that it has not
  // returned yet, and returns nullopt after stop().
  struct Watcher {
    int rank = 0;
    std::vector<bool> notified;
    bool stopping = false;
  };
  std::optional<std::pair<int, std::string>> next_death(Watcher& watcher);
  void stop(Watcher& watcher);

 private:
  // from, to, epoch, sequence.
  using Route = std::tuple<int, int, std::uint32_t, std::uint32_t>;

  struct Posted {
    int owner = 0;
    bool sends = false;
    Route route;
    const std::byte* source = nullptr;  // Sends only.
    std::byte* target = nullptr;        // Receives only.
    std::size_t bytes = 0;
    bool done = false;
    absl::Status outcome;
  };
  struct Waiting {
    std::deque<TransferId> sends;
    std::deque<TransferId> receives;
  };
  struct Round {
    std::vector<std::optional<std::string>> values;
    int came = 0;
    int left = 0;
  };

  TransferId post(Posted posted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void match(const Route& route) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void withdraw(TransferId id, const Route& route)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_dead(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return deaths_[static_cast<std::size_t>(rank)].has_value();
  }
  std::string missing_from(const Round& round) const;
  // Aborted if a missing rank is dead.
  absl::Status check_missing(const Round& round) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<Peer> peers_;
  mutable Mutex mutex_;
  CondVar changed_;  // A rank joined a round or died, or stop() was called.
  std::vector<bool> handed_out_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<std::string>> deaths_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::deque<Mail>> mailboxes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> rounds_of_rank_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Round> rounds_ ABSL_GUARDED_BY(mutex_);
  TransferId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<TransferId, Posted> posted_ ABSL_GUARDED_BY(mutex_);
  std::map<Route, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::transport
