// SPDX-License-Identifier: Apache-2.0
// The NcclPlane moves GPU tensors by NCCL. Its members first exchange their
// capabilities over a plane of the host (introduce()). If NCCL cannot be used
// between them, and for operations that NCCL lacks (see arithmetic.h), calls
// use `otherwise`, the plane for all other cases.
//
// A call returns when its work is in a stream of the GPU, if its caller wants
// to wait for the end itself (Call::work). Work in a stream cannot be given up.
// So members meet, over a plane of the host, before they enqueue a call that is
// not certain. Until then the call can be abandoned as any other; afterwards
// all members are in it.
//
// The ranks' memory in the arena for GPUs (arena.h) at their introduction is
// registered with NCCL. From then on they compare, in each call, where their
// tensors lie. NCCL takes a tensor in place if it lies at the same place on all
// ranks; otherwise the tensor goes through unregistered memory.
//
// Results are equal on all ranks and from run to run, but NCCL chooses the
// order of additions and the rounding. Sums of 16-bit numbers may be rounded to
// 16 bits at each step. Averages and scales are applied to the contributions.
// NaN may get lost in a minimum or maximum. A reducescatter need not have the
// bits of an allreduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/nccl/arithmetic.h"
#include "horovodpp/collective/nccl/introduction.h"
#include "horovodpp/collective/nccl/line.h"
#include "horovodpp/collective/nccl/packing.h"
#include "horovodpp/collective/nccl/session.h"
#include "horovodpp/device/cuda_graph.h"

namespace hvd::collective {

class NcclPlane : public PlaneOf<NcclPlane> {
 public:
  // `host` connects the same ranks for host memory, `otherwise` for GPU memory;
  // these and the session outlive this object. `members` are ranks of the job;
  // `rank` is this one's position among them.
  struct Means {
    NcclSession& session;
    DataPlane& host;
    DataPlane& otherwise;
    std::vector<int> members;
    int rank;
  };
  explicit NcclPlane(Means means)
      : means_(std::move(means)),
        line_(means_.session, means_.members, means_.rank) {}

  std::string name() const override { return "nccl"; }
  bool supports(const Device& device, std::size_t) const override {
    return device.kind == DeviceKind::kCuda;
  }
  bool reduces_by(ReduceOp op) const override {
    return means_.otherwise.reduces_by(op);
  }
  bool needs_introduction() const override {
    return !is_introduced_ ||
           (!line_.is_open() && means_.otherwise.needs_introduction());
  }
  std::uint32_t tags_of(std::size_t bytes) const override {
    return means_.otherwise.tags_of(bytes) + (line_.windows().empty() ? 0 : 1);
  }
  absl::Status introduce(const Device& mine, Call call) override;
  bool captures() const override { return line_.is_open(); }

  absl::Status replay(const device::CudaGraph& graph, Call call) override;

 private:
  friend PlaneOf<NcclPlane>;
  absl::Status serve(const Allreduce& what, Call call);
  absl::Status serve(const Reducescatter& what, Call call);
  absl::Status serve(const Allgather& what, Call call);
  absl::Status serve(const Broadcast& what, Call call);
  absl::Status serve(const Alltoall& what, Call call);
  absl::Status serve(const Barrier& what, const Call& call) {
    return means_.host.execute(what, call);
  }

  int ranks() const { return static_cast<int>(means_.members.size()); }
  // Whether such a call uses NCCL.
  bool goes_here(bool is_used, const Call& call) const {
    return line_.is_open() && is_used && call.all_take_part;
  }
  absl::StatusOr<NcclIntroduction> introduce_myself(const Device& mine);
  // A call that does not use NCCL.
  template <typename What>
  absl::Status elsewhere(const What& what, const Call& call);
  absl::Status allreduce_packed(std::span<const Piece> pieces,
                                const NcclReduction& how, DType dtype,
                                const Call& call);

  // Returns when all members are known to enter the call.
  absl::Status meet(const Call& call);
  // Meets likewise, and returns whether all members' tensors lie at the same
  // places. Changes `call` to the rest of the call.
  absl::StatusOr<bool> meet(const NcclPlacement& where, Call& call);
  absl::StatusOr<bool> check_sizes(std::span<const std::size_t> send_bytes,
                                   std::span<const std::size_t> receive_bytes,
                                   const NcclPlacement& where, Call& call);
  absl::Status check_memory(const void* memory, const Call& call) const;
  // Returns `outcome`; after a failure the plane must not be used again.
  absl::Status noted(const absl::Status& outcome);

  const Means means_;
  bool is_introduced_ = false;
  std::optional<NcclUniqueId> id_;        // Created by this rank.
  std::vector<NcclArena::Block> blocks_;  // To be registered.
  NcclLine line_;                         // Not open: NCCL is not used.
  std::unique_ptr<NcclPacking> packing_;  // nullptr: not all ranks can pack.
  absl::Status failure_;
};

}  // namespace hvd::collective
