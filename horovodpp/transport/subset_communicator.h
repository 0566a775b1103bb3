// SPDX-License-Identifier: Apache-2.0
// A communicator between some of the ranks of another one, for a job that goes
// on without the rest. Its members are renumbered from 0 in the old order. Mail
// and transfers of members pass through; traffic of other ranks or epochs does
// not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/epoch_router.h"

namespace hvd::transport {

struct SubsetOptions {
  // Ranks of the router's wires, ascending, with this rank; equal on all
  // members.
  std::vector<int> members = {};
  // Equal on all members, and above every earlier epoch on this router.
  std::uint32_t epoch = 0;
  // Called when exchange() and receive_mail() find no mail; an error ends them
  // with that error. The router keeps notices that have arrived in the
  // meantime.
  std::function<absl::Status()> interrupt = {};
};

// Keeps the router alive. exchange() goes by mail, and fails at once with
// Aborted, naming the rank, if a member is dead. Errors of transfers may number
// ranks as the wires do.
//   InvalidArgument     `members` are no such list
//   FailedPrecondition  the epoch is not above earlier ones
absl::StatusOr<std::unique_ptr<Communicator>> make_subset_communicator(
    std::shared_ptr<EpochRouter> router, const SubsetOptions& options);

}  // namespace hvd::transport
