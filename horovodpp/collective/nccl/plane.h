// SPDX-License-Identifier: Apache-2.0
// The NcclPlane moves tensors of GPUs by NCCL. Its members first tell each other, by a
// plane of the host, what they have (introduce()); if NCCL cannot be used between them,
// and for what NCCL does not do (see arithmetic.h), calls go by the plane for all
// other cases.
//
// A call returns when its work is in a stream of the GPU, if its caller wants to hear of
// the end (Call::work). What is in a stream cannot be given up. So members meet, by a
// plane of the host, before they put a call there that is not certain: until then it can
// be abandoned as any other call, and afterwards all of them are in it.
//
// What ranks have of the arena for GPUs (arena.h) when they introduce themselves is
// registered with NCCL. From then on they compare, in each call, where their tensors lie:
// what lies alike on all of them NCCL takes as it is, and what does not goes by memory
// that is not registered.
//
// Results are equal on all ranks and from run to run, but in what order NCCL adds is its
// own affair, and so is what it rounds to: sums of 16-bit numbers may be rounded to 16
// bits at each step, averages and scales are applied to what is summed, and NaN may
// lose a minimum or maximum. A reducescatter need not have the bits of an allreduce.
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

class NcclPlane : public DataPlane {
 public:
  // `host` connects the same ranks for memory of the host, `otherwise` for that of
  // GPUs; both outlive this, and so does the session. `members` are ranks of the job,
  // and `rank` is this one's position among them.
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

  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) override;
  absl::Status reducescatter(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const Reduction& reduction, Call call) override;
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) override;
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) override;
  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes,
                        std::byte* output,
                        std::span<const std::size_t> receive_bytes,
                        Call call) override;
  absl::Status barrier(Call call) override { return means_.host.barrier(call); }
  absl::Status replay(const device::CudaGraph& graph, Call call) override;

 private:
  int ranks() const { return static_cast<int>(means_.members.size()); }
  // Whether such a call goes by NCCL.
  bool goes_here(bool is_used, const Call& call) const {
    return line_.is_open() && is_used && call.all_take_part;
  }
  absl::StatusOr<NcclIntroduction> introduce_myself(const Device& mine);
  // A call that does not go by NCCL.
  template <typename F>
  absl::Status elsewhere(const Call& call, F f);
  absl::Status allreduce_packed(std::span<const Piece> pieces,
                                const NcclReduction& how, DType dtype,
                                const Call& call);

  // Returns when all members are known to enter the call.
  absl::Status meet(const Call& call);
  // The same; and whether tensors of all members lie alike. What comes after it in this
  // call is `call` as it is then.
  absl::StatusOr<bool> meet(const NcclWhereabouts& where, Call& call);
  absl::StatusOr<bool> check_sizes(std::span<const std::size_t> send_bytes,
                                   std::span<const std::size_t> receive_bytes,
                                   const NcclWhereabouts& where, Call& call);
  absl::Status check_memory(const void* memory, const Call& call) const;
  // `outcome` with a note that the plane is not to be used again where it failed.
  absl::Status noted(const absl::Status& outcome);

  const Means means_;
  bool is_introduced_ = false;
  std::optional<NcclUniqueId> id_;        // Made here.
  std::vector<NcclArena::Block> blocks_;  // To be registered.
  NcclLine line_;                         // Not open: NCCL is not used.
  std::unique_ptr<NcclPacking> packing_;  // nullptr: not all ranks can.
  absl::Status failure_;
};

}  // namespace hvd::collective
