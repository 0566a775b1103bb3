// SPDX-License-Identifier: Apache-2.0
// A HostPlane is the common part of all planes for CPU memory. It checks a
// call's arguments, and serves a single rank without moving data. After an
// error it refuses further calls. The derived plane moves the bytes.
//
// A new plane implements two things, an allreduce and an alltoall. It inherits
// the others, and overrides the calls that it can do faster. The inherited
// reducescatter is an allreduce of which each rank keeps its part. The
// inherited allgather, broadcast and barrier are alltoalls.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/reduce/kernel.h"

namespace hvd::collective {

class HostPlane : public PlaneOf<HostPlane> {
 public:
  bool supports(const Device& device, std::size_t) const override {
    return device.is_cpu();
  }

  using PlaneOf::execute;
  absl::StatusOr<bool> execute(const AllgatherAlike& what, Call call) final;
  absl::StatusOr<bool> execute(const AlltoallAlike& what, Call call) final;

 protected:
  // `rank` is this rank's position among `ranks`. If `fitness` is an error, all
  // calls return it.
  HostPlane(int rank, int ranks, const absl::Status& fitness)
      : rank_(rank), ranks_(ranks), failure_(fitness) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // The calls after the checks: between two or more ranks, and with bytes to
  // move. But an Alltoall, an AllgatherAlike or an AlltoallAlike may be empty.
  // The root of a Broadcast already has its output, unless the plane meets in a
  // broadcast.
  virtual absl::Status move(std::span<const Piece> pieces,
                            const ReduceKernel& kernel, const Call& call) = 0;
  virtual absl::Status move(const Alltoall& what, const Call& call) = 0;
  virtual absl::Status move(std::span<const Piece> pieces,
                            std::span<const std::int64_t> counts,
                            const ReduceKernel& kernel, const Call& call);
  virtual absl::Status move(const Allgather& what, const Call& call);
  virtual absl::Status move(const Broadcast& what, const Call& call);
  virtual absl::Status meet(const Call& call);
  // Called only if gathers_alike().
  virtual absl::StatusOr<bool> move(const AllgatherAlike& what,
                                    const Call& call);
  virtual absl::StatusOr<bool> move(const AlltoallAlike& what,
                                    const Call& call);
  // An allreduce by Adasum, as move(). Called only if reduces_by(Adasum).
  virtual absl::Status merge(std::span<const Piece> pieces,
                             const Reduction& reduction, const Call& call);

 private:
  friend PlaneOf<HostPlane>;
  template <typename What>
  absl::Status serve(const What& what, const Call& call);
  template <typename What>
  absl::StatusOr<bool> serve_alike(const What& what, const Call& call);

  // Why this plane does not make the call.
  template <typename What>
  absl::Status refusal_of(const What& what) const;
  absl::Status refusal_of(const Allreduce& what) const;

  // The call between two or more ranks.
  absl::Status between_ranks(const Allreduce& what, const Call& call);
  absl::Status between_ranks(const Reducescatter& what, const Call& call);
  absl::Status between_ranks(const Allgather& what, const Call& call);
  absl::Status between_ranks(const Broadcast& what, const Call& call);
  absl::Status between_ranks(const Alltoall& what, const Call& call);
  absl::Status between_ranks(const Barrier& what, const Call& call);

  // Records the outcome of a call.
  absl::Status noted(const absl::Status& outcome);

  const int rank_;
  const int ranks_;
  absl::Status failure_;
};

}  // namespace hvd::collective
