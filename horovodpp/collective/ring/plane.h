// SPDX-License-Identifier: Apache-2.0
// The RingPlane moves tensors over a Communicator alone. It works between any
// ranks, and is the reference for all other planes.
//
//   RingPlane plane(communicator, members, waiting);
//
// Everything goes in chunks through the plane's own staging, several at a time,
// so user memory is never lent to the wires:
//
// - Allreduce: each rank reduces a segment for all of them, in the order of the
//   ranks, as the ShmPlane does, so both give the same bits (direct_flow.h).
// - Reducescatter: the same; the segments are the ranks' parts, if these are of
//   equal length.
// - Allgather: a ring.
// - Broadcast: a binomial tree for short messages and a chain for long ones.
// - Alltoall: a shift for each distance.
// - Barrier: a dissemination.
//
// Ranks in calls are positions in `members`. Transfers carry the call's tag, so
// several planes may share a communicator if their calls' tags differ. A call
// that was given up can leak memory: chunks under way that the wires do not
// return stay mapped until the process ends. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/ring/circuit.h"
#include "horovodpp/collective/ring/direct_circuit.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

struct RingOptions {
  // Bytes of one message, at least 64. Between many ranks a reduction's
  // messages are shorter, because more of them are under way.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Messages under way to, and from, a neighbor; at least 1.
  int depth = 4;
};

class RingPlane : public HostPlane {
 public:
  // `members` are ranks of `communicator`, this one included (else every call
  // fails with InvalidArgument), in the same order on all ranks. The
  // communicator outlives the plane. A waiting plane never sleeps longer than
  // `waiting.max_sleep`, or than 50 us if that is negative.
  RingPlane(transport::Communicator& communicator, std::vector<int> members,
            const transport::WaitPolicy& waiting,
            const RingOptions& options = {});

  // Connects all ranks of the communicator.
  RingPlane(transport::Communicator& communicator,
            const transport::WaitPolicy& waiting,
            const RingOptions& options = {});

  std::string name() const override { return "ring"; }

 protected:
  // Ranks of the communicator.
  const std::vector<int>& members() const { return members_; }
  RingTeam team() const { return {.members = members_, .rank = rank()}; }

  // Runs `body` with a link for the call, and waits until everything is sent.
  // The link stages through the plane's memory for rings, or through `staging`.
  using Body = std::function<absl::Status(ChunkLink&)>;
  absl::Status run(const Call& call, const Body& body) {
    return run(call, staging_, body);
  }
  absl::Status run(const Call& call, Staging& staging, const Body& body);

  // As HostPlane's.
  absl::Status move(std::span<const Piece> pieces, const ReduceKernel& kernel,
                    const Call& call) override;
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override;
  absl::Status move(const Allgather& gather, const Call& call) override;

 private:
  absl::Status move(const Broadcast& broadcast, const Call& call) override;
  absl::Status move(const Alltoall& exchange, const Call& call) override;
  absl::Status meet(const Call& call) override;

  RingSeat seat() const {
    return {.shape = ring_,
            .previous = team().member(ranks() - 1),
            .next = team().member(1)};
  }
  DirectSeat direct_seat() const {
    return {.members = members_, .position = rank()};
  }

  transport::Communicator& communicator_;
  const std::vector<int> members_;
  const transport::WaitPolicy waiting_;
  Staging staging_;
  Staging direct_staging_;
  const RingShape ring_;
};

}  // namespace hvd::collective
