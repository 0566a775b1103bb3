// The RingPlane moves tensors over nothing but a Communicator: the plain plane
// that works between any ranks, and the reference for all others.
//
//   RingPlane plane(communicator, members, waiting);
//
// Allreduce is a ring reduce-scatter and allgather, allgather a ring, broadcast
// a binomial tree for short messages and a chain for long ones, barrier a
// dissemination (Hensgen, Finkel and Manber, 1988). Everything goes in chunks
// through staging of the plane's own, several of them under way at a time, so
// user memory is never lent to the wires.
//
// Ranks in calls are positions in `members`. Transfers carry the call's tag, so
// several planes may share a communicator as long as their calls' tags differ.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ring_flow.h"
#include "horovodpp/collective/staging.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class ChunkLink;

struct RingOptions {
  // Bytes of one message, at least 64.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Messages under way to, and from, a neighbour; at least 1.
  int depth = 4;
};

class RingPlane : public DataPlane {
 public:
  // `members` are ranks of `communicator`, this one among them (else every call
  // fails with InvalidArgument), in the same order on all of them. The
  // communicator outlives the plane. While it waits it does not sleep longer
  // than `waiting.nap`, or than 50 us where that is negative.
  RingPlane(transport::Communicator& communicator, std::vector<int> members,
            const transport::WaitPolicy& waiting,
            const RingOptions& options = {});

  // Between all ranks of the communicator.
  RingPlane(transport::Communicator& communicator,
            const transport::WaitPolicy& waiting,
            const RingOptions& options = {});

  std::string name() const override { return "ring"; }
  bool supports(const Device& device, std::size_t bytes) const override;
  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) override;
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) override;
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) override;
  absl::Status barrier(Call call) override;

 private:
  int size() const { return ring_.ranks; }
  // The communicator's rank of the member `distance` positions further on.
  int member(int distance) const;

  // Runs `body` with a link for the call, unless the plane has failed before.
  template <typename Body>
  absl::Status run(const Call& call, Body body);
  absl::Status circulate(RingFlow& flow, ChunkLink& link);
  absl::Status send_own(RingFlow& flow, std::int64_t round, ChunkLink& link);
  absl::Status pass_on(RingFlow& flow, RingChunk chunk, ChunkLink& link);
  absl::Status broadcast_by_tree(const std::byte* input, std::byte* output,
                                 std::size_t bytes, int root, ChunkLink& link);
  absl::Status broadcast_by_chain(const std::byte* input, std::byte* output,
                                  std::size_t bytes, int root, ChunkLink& link);

  transport::Communicator& communicator_;
  const std::vector<int> members_;
  const transport::WaitPolicy waiting_;
  RingShape ring_;
  Staging staging_;
  absl::Status failure_;
};

}  // namespace hvd::collective
