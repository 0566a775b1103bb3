// SPDX-License-Identifier: Apache-2.0
// exchange() by mail: every rank sends its string to rank 0, which sends all of
// them back. Where ranks are missing, rank 0 knows which, and tells those that
// came. A rank that sees that another one is dead calls the exchange off.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// Mail that carries nothing but exchanges.
class ExchangePost {
 public:
  virtual ~ExchangePost() = default;
  virtual int rank() const = 0;
  virtual const std::vector<Peer>& peers() const = 0;
  virtual absl::Status send(int to, std::string bytes) = 0;
  // An error, as that a rank is dead, ends the exchange on all ranks.
  virtual absl::StatusOr<std::optional<Mail>> receive() = 0;
  // Whether all that was sent has left. An error if it has not and a rank is dead,
  // which may be the one that does not take it.
  virtual absl::StatusOr<bool> flushed() = 0;
};

// One round; all ranks count their rounds alike. Blocks, by polling.
//   DeadlineExceeded  not all ranks came before `deadline`; names the missing
//   Aborted           a rank called it, or a round before it, off; says why
absl::StatusOr<std::vector<std::string>> exchange_by_mail(
    ExchangePost& post, std::uint32_t round, const std::string& mine,
    std::chrono::steady_clock::time_point deadline);

// This rank cannot take part: calls the round off on all ranks. Returns `why`.
absl::Status refuse_exchange(ExchangePost& post, std::uint32_t round,
                             const absl::Status& why);

}  // namespace hvd::transport
