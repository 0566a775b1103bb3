// SPDX-License-Identifier: Apache-2.0
// A communicator between some of the ranks of another one, for a job that goes
// on without the rest: its members are numbered anew, from 0 and in the old
// order. Mail and transfers pass through; what comes from elsewhere, or belongs
// to another epoch, does not.
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
  // Ranks of the router's wires, ascending, this one among them; equal on all.
  std::vector<int> members = {};
  // Equal on all members, and above that of every earlier one on this router.
  std::uint32_t epoch = 0;
  // Asked whenever exchange() and receive_mail() find nothing; what it returns
  // other than OK is their outcome. Notices that have come by then are kept by
  // the router.
  std::function<absl::Status()> interrupt = {};
};

// Keeps the router alive. exchange() goes by mail, and fails at once if a member
// is dead, with Aborted that names it. Errors of transfers may name ranks as
// the wires number them.
//   InvalidArgument     `members` are no such list
//   FailedPrecondition  the epoch is not above earlier ones
absl::StatusOr<std::unique_ptr<Communicator>> make_subset_communicator(
    std::shared_ptr<EpochRouter> router, const SubsetOptions& options);

}  // namespace hvd::transport
