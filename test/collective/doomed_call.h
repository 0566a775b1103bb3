// SPDX-License-Identifier: Apache-2.0
// A call that one member never enters, and that the others give up. For tests
// of planes.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "test/collective/conforming_calls.h"

namespace hvd::collective {

// A call that another member never enters. All kinds leave memory unchanged
// when they are abandoned.
struct DoomedCall {
  enum Kind {
    kAllreduce,
    kReducescatter,
    kAllgather,
    kBarrier,
    kAllgatherAlike,  // Planes may support these three;
    kAlltoallAlike,   // else barriers.
    kBroadcast,
    kKinds
  };
  Kind kind;
  std::int64_t count;
  bool in_place;
  bool fused;

  static DoomedCall numbered(unsigned number, std::int64_t count) {
    return {static_cast<Kind>(number % kKinds), count, number / kKinds % 2 == 0,
            number / (2 * kKinds) % 3 == 0};
  }
};

// The interrupt abandons the call after `checks` successful checks.
inline bool is_given_up_without_trace(Member& member, const DoomedCall& doomed,
                                      int checks) {
  FailingInterrupt interrupt(checks,
                             absl::CancelledError("somebody stays away"));
  const Call call = {member.next().tag, interrupt};
  const auto ranks = static_cast<std::size_t>(member.ranks);
  Tensors tensors(DType::kF32, cut(doomed.count, doomed.fused));
  for (Bytes& input : tensors.inputs) {
    input = bytes_of(member.rank, input.size());
  }
  std::vector<Piece> pieces = tensors.pieces(doomed.in_place);
  std::vector<std::size_t> sizes(ranks, tensors.inputs.back().size());
  std::vector<std::size_t> sent;
  Bytes gathered(ranks * sizes[0], std::byte{0x77});
  const std::vector<Bytes> inputs = tensors.inputs;
  const std::vector<Bytes> outputs = tensors.outputs;
  const Bytes gathered_before = gathered;

  const auto make_call = [&] {
    std::vector<std::int64_t> counts(pieces.size() * ranks);
    std::span<const std::byte> mine = tensors.inputs.back();
    switch (doomed.kind) {
      case DoomedCall::kAllreduce:
        return member.plane.allreduce(
            pieces,
            {.op = doomed.fused && member.plane.reduces_by(ReduceOp::kAdasum)
                       ? ReduceOp::kAdasum
                       : ReduceOp::kSum},
            call);
      case DoomedCall::kReducescatter:
        for (std::size_t p = 0; p < pieces.size(); ++p) {
          pieces[p].output = tensors.outputs[p].data();
          const auto whole = static_cast<std::size_t>(doomed.count) % ranks;
          counts[p * ranks + whole] = pieces[p].count;
        }
        return member.plane.reducescatter(pieces, counts, {}, call);
      case DoomedCall::kAllgather:
        if (doomed.in_place) {
          const auto rank = static_cast<std::size_t>(member.rank);
          mine = std::span(gathered).subspan(rank * sizes[0], sizes[0]);
        }
        return member.plane.allgather(mine, sizes, gathered.data(), call);
      case DoomedCall::kAllgatherAlike:
        if (!member.plane.gathers_alike()) return member.plane.barrier(call);
        return member.plane.allgather_alike(mine, sizes, gathered.data(), call)
            .status();
      case DoomedCall::kAlltoallAlike:
        if (!member.plane.gathers_alike()) return member.plane.barrier(call);
        sent.assign(ranks * ranks, mine.size() / ranks);
        return member.plane
            .alltoall_alike(mine.first(mine.size() / ranks * ranks), sent,
                            gathered.data(), call)
            .status();
      case DoomedCall::kBroadcast:
        if (!member.plane.meets_in_broadcast() || mine.empty()) {
          return member.plane.barrier(call);
        }
        return member.plane.broadcast(mine.data(), gathered.data(), mine.size(),
                                      0, call);
      default:
        return member.plane.barrier(call);
    }
  };
  const absl::Status status = make_call();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  const bool intact = tensors.inputs == inputs && tensors.outputs == outputs &&
                      gathered == gathered_before;
  EXPECT_TRUE(intact) << "kind " << doomed.kind << " of " << doomed.count;
  return intact && absl::IsCancelled(status);
}

}  // namespace hvd::collective
