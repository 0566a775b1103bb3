// SPDX-License-Identifier: Apache-2.0
// An EpochRouter lets the epochs of a job that follow each other, and the
// notices between them, share the wires of the first: each message says in a
// trailer what it belongs to. What comes early waits here; what comes late, or
// without a trailer (from the first epoch), is dropped.
//
//   auto router = std::make_shared<EpochRouter>(std::move(wires));
//   router->send(2, {.kind = EpochRouter::Kind::kNotice}, "who is left?");
//   ...                                    // until it is agreed
//   auto next = make_subset_communicator(router, {.members = {0, 2},
//                                                .epoch = 2});
//
// Driven by one thread at a time; losses() and on_peer_lost()'s callback, as
// with every communicator, are for other threads, too.
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
#include "horovodpp/core/mutex.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

class EpochRouter {
 public:
  enum class Kind : std::uint32_t { kNotice, kExchange, kMail };
  struct Channel {
    Kind kind = Kind::kNotice;
    std::uint32_t epoch = 0;  // Of a notice: 0.

    // NOLINTNEXTLINE(modernize-use-nullptr): of clang-tidy 14's own.
    auto operator<=>(const Channel&) const = default;
  };

  // From now on nobody else receives mail of `wires`, or listens for losses
  // there.
  explicit EpochRouter(std::shared_ptr<Communicator> wires);
  ~EpochRouter();
  EpochRouter(const EpochRouter&) = delete;
  EpochRouter& operator=(const EpochRouter&) = delete;

  Communicator& wires() { return *wires_; }

  // As Communicator has them, for one channel.
  absl::Status send(int to, Channel channel, std::string bytes);
  absl::StatusOr<std::optional<Mail>> receive(Channel channel);
  // As receive(), of what has been taken from the wires already.
  std::optional<Mail> receive_kept(Channel channel);

  // Drops the mail of epochs before `epoch`, now and later.
  //   FailedPrecondition  this epoch or a later one was entered before
  absl::Status enter(std::uint32_t epoch);

  // The notice in `bytes` as they came over the wires, if that is what they
  // are: a rank that is still in the first epoch, and has no EpochRouter, hears
  // of those that are not.
  static std::optional<std::string> notice_in(const std::string& bytes);

  // `tag` of an epoch, as it goes over the wires: no two epochs' are equal, as
  // long as the tag's own epochs are few.
  static DataTag folded(std::uint32_t epoch, DataTag tag);

  // The ranks known to be dead, and how they died. Thread-safe.
  std::map<int, std::string> losses() const;
  // How many there are: cheap enough to ask all the time. Thread-safe.
  std::size_t loss_count() const { return loss_count_.load(); }

  // As Communicator::on_peer_lost.
  void on_peer_lost(Communicator::LostCallback callback);

 private:
  void keep(Channel channel, Mail mail);

  const std::shared_ptr<Communicator> wires_;
  std::uint32_t entered_ = 0;
  std::map<Channel, std::deque<Mail>> kept_;
  // How much of what is kept, and asked for by nobody yet, is of a rank.
  std::map<int, int> kept_of_;
  std::atomic<std::size_t> loss_count_ = 0;
  mutable Mutex mutex_;
  std::map<int, std::string> losses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::transport
