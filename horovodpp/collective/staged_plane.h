// SPDX-License-Identifier: Apache-2.0
// The StagedPlane moves GPU tensors through the host: to pinned memory, by a
// plane for CPU memory to the other ranks, and back. It needs no NCCL, and
// ranks may share a GPU or have none. Results have the bits of the CPU's
// planes. Large allreduces run in chunks that overlap (staged_allreduce.h).
//
// A call waits for `call.after` on the GPU, and returns when its results are in
// the GPU's memory. If no argument lies on a GPU, host memory, such as a joined
// rank's, is used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/guarded.h"
#include "horovodpp/collective/staging_lane.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

class StagedPlane : public PlaneOf<StagedPlane> {
 public:
  // Uses the first of `planes` that supports a call. They connect the same
  // `ranks`; `rank` is this one's position. All outlive this object.
  struct Means {
    device::Gpus& gpus;
    std::vector<DataPlane*> planes;
    int rank;
    int ranks;
    // The source of the memory in which tensors are staged.
    StagingSource memory = nullptr;
    // The smallest chunk; a call has kMaxChunks at most.
    std::size_t chunk_bytes = std::size_t{4} << 20;
    GpuTimeouts timeouts = {};
  };
  static constexpr std::size_t kMaxChunks = 64;
  explicit StagedPlane(Means means)
      : gpus_(means.gpus),
        planes_(std::move(means.planes)),
        rank_(means.rank),
        ranks_(means.ranks),
        memory_(std::move(means.memory)),
        chunk_bytes_(means.chunk_bytes),
        timeouts_(std::move(means.timeouts)) {}
  ~StagedPlane() override;
  StagedPlane(const StagedPlane&) = delete;
  StagedPlane& operator=(const StagedPlane&) = delete;

  std::string name() const override { return "staged"; }
  bool supports(const Device& device, std::size_t) const override {
    return device.kind == DeviceKind::kCuda;
  }
  bool reduces_by(ReduceOp op) const override {
    return plane_for(op) != nullptr;
  }
  std::uint32_t tags_of(std::size_t bytes) const override;

 private:
  friend PlaneOf<StagedPlane>;
  using Lane = StagingLane;
  class Trip;

  template <typename What>
  absl::Status serve(const What& what, const Call& call);
  absl::Status serve(const Allreduce& what, const Call& call);
  absl::Status serve(const Barrier& what, const Call& call);

  // nullptr: there is none.
  DataPlane* plane_for(ReduceOp op) const;
  absl::StatusOr<DataPlane*> plane_or_error(ReduceOp op = ReduceOp::kSum) const;
  // The lane of the GPU that `memory` belongs to, created at its first use;
  // nullptr for host memory.
  absl::StatusOr<Lane*> lane_of(const void* memory, const Call& call);
  // The largest chunk of a call of so many bytes.
  std::size_t chunk_of(std::size_t bytes) const;
  // Returns when all members are known to enter the call, since work in a
  // stream cannot be given up. Changes `call` to the call after that.
  absl::Status meet(DataPlane& plane, Call& call);
  // Makes the call of `plane` on the host: copies the tensors there, and the
  // results back. Memory that is already there is used in place.
  template <typename What>
  absl::Status on_host(DataPlane& plane, const What& what, const Call& call);
  GpuWait wait_in(const Call& call) const {
    return {timeouts_, call, "a collective by way of the host",
            GpuWait::For::kItsOwnWork};
  }
  absl::Status noted(const absl::Status& outcome);
  // Records the outcome of `f`, or that it has thrown.
  template <typename F>
  absl::Status noted_of(F f) {
    return guarded(
        f, [this](const absl::Status& outcome) { return noted(outcome); });
  }

  device::Gpus& gpus_;
  const std::vector<DataPlane*> planes_;
  const int rank_;
  const int ranks_;
  const StagingSource memory_;
  const std::size_t chunk_bytes_;
  const GpuTimeouts timeouts_;
  std::map<int, std::unique_ptr<Lane>> lanes_;
  absl::Status failure_;
  bool has_ended_ = true;  // Whether the lanes' work has ended.
};

}  // namespace hvd::collective
