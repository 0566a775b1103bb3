// SPDX-License-Identifier: Apache-2.0
// exchange() by mail: every rank sends its string to rank 0, which sends all
// strings back. If ranks are missing at the deadline, rank 0 tells the others
// which. A rank that detects a death calls the exchange off.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// ExchangePost is the mail of exchanges only.
class ExchangePost {
 public:
  virtual ~ExchangePost() = default;
  virtual int rank() const = 0;
  virtual const std::vector<Peer>& peers() const = 0;
  virtual absl::Status send(int to, std::string bytes) = 0;
  // An error, such as a dead rank, ends the exchange on all ranks.
  virtual absl::StatusOr<std::optional<Mail>> receive() = 0;
  // Whether everything sent has left. Returns an error if not and a rank is
  // dead, because the dead rank may be the receiver.
  virtual absl::StatusOr<bool> flushed() = 0;
};

// One round; all ranks number their rounds alike. Blocks, by polling.
//   DeadlineExceeded  ranks were missing at `deadline`; names them
//   Aborted           a rank called off this or an earlier round; says why
absl::StatusOr<std::vector<std::string>> exchange_by_mail(
    ExchangePost& post, std::uint32_t round, const std::string& mine,
    std::chrono::steady_clock::time_point deadline);

// For a rank that cannot take part: calls the round off on all ranks. Returns
// `why`.
absl::Status refuse_exchange(ExchangePost& post, std::uint32_t round,
                             const absl::Status& why);

}  // namespace hvd::transport
