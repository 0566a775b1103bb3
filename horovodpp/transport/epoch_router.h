// SPDX-License-Identifier: Apache-2.0
// An EpochRouter lets successive epochs of a job, and the notices between them,
// share the wires of the first epoch. A trailer on each message names its
// channel. Early messages wait here. Late messages, and messages without a
// trailer (from the first epoch), are dropped.
//
//   auto router = std::make_shared<EpochRouter>(std::move(wires));
//   router->send(2, {.kind = EpochRouter::Kind::kNotice}, "who is left?");
//   ...                                    // until the ranks agree
//   auto next = make_subset_communicator(router, {.members = {0, 2},
//                                                .epoch = 2});
//
// Driven by one thread at a time. As with every communicator, other threads may
// call losses(), and the callback of on_peer_lost() runs on another thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

class EpochRouter {
 public:
  enum class Kind : std::uint32_t { kNotice, kExchange, kMail };
  struct Channel {
    Kind kind = Kind::kNotice;
    std::uint32_t epoch = 0;  // 0 for notices.

    // NOLINTNEXTLINE(modernize-use-nullptr): of clang-tidy 14's own.
    auto operator<=>(const Channel&) const = default;
  };

  // From now on, only the router receives the mail of `wires` and listens for
  // losses there.
  explicit EpochRouter(std::shared_ptr<Communicator> wires);
  ~EpochRouter();
  EpochRouter(const EpochRouter&) = delete;
  EpochRouter& operator=(const EpochRouter&) = delete;

  Communicator& wires() { return *wires_; }

  // As in Communicator, for one channel.
  absl::Status send(int to, Channel channel, std::string bytes);
  absl::StatusOr<std::optional<Mail>> receive(Channel channel);
  // Like receive(), but only mail already taken from the wires.
  std::optional<Mail> receive_kept(Channel channel);

  // Drops the mail of epochs before `epoch`, now and later.
  //   FailedPrecondition  this epoch or a later one was entered before
  absl::Status enter(std::uint32_t epoch);

  // The notice in raw wire `bytes`, if they are one. A rank still in the first
  // epoch, without an EpochRouter, thus notices ranks that have moved on.
  static std::optional<std::string> notice_in(const std::string& bytes);

  // `tag` of an epoch as sent over the wires. Tags of different epochs differ
  // as long as the tag's own epochs are few.
  static DataTag folded(std::uint32_t epoch, DataTag tag);

  // The ranks known to be dead, and how they died. Thread-safe.
  std::map<int, std::string> losses() const;
  // Number of known losses: cheap enough for polling. Thread-safe.
  std::size_t loss_count() const { return loss_count_.load(); }

  // Like Communicator::on_peer_lost.
  void on_peer_lost(Communicator::LostCallback callback);

 private:
  void keep(Channel channel, Mail mail);

  const std::shared_ptr<Communicator> wires_;
  std::uint32_t entered_ = 0;
  std::map<Channel, std::deque<Mail>> kept_;
  // Kept messages of each rank that no caller has asked for yet.
  std::map<int, int> kept_of_;
  std::atomic<std::size_t> loss_count_ = 0;
  mutable Mutex mutex_;
  std::map<int, std::string> losses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::transport
