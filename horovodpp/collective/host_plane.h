// SPDX-License-Identifier: Apache-2.0
// A HostPlane is the common part of all planes for CPU memory. It checks a
// call's arguments, and serves a single rank without moving data. After an
// error it refuses further calls. The derived plane moves the bytes.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/reduce/kernel.h"

namespace hvd::collective {

class HostPlane : public DataPlane {
 public:
  // The arguments of DataPlane's calls, put together.
  struct Gather {
    std::span<const std::byte> mine;
    std::span<const std::size_t> bytes_of_rank;
    std::byte* output;

    // The place of each rank's part in the output. Copies `mine` to the place
    // of `rank`.
    std::vector<std::byte*> place_mine(int rank) const;
  };
  struct GatherAlike {
    std::span<const std::byte> mine;
    std::span<std::size_t> bytes_of_rank;
    std::byte* output;
  };
  struct Broadcast {
    const std::byte* input;
    std::byte* output;
    std::size_t bytes;
    int root;
  };
  struct Exchange {
    std::span<const std::byte> input;
    std::span<const std::size_t> send_bytes;
    std::byte* output;
    std::span<const std::size_t> receive_bytes;
  };
  struct ExchangeAlike {
    std::span<const std::byte> input;
    std::span<std::size_t> sizes;  // Of rank r: from r * ranks on.
    std::byte* output;
  };

  bool supports(const Device& device, std::size_t) const override {
    return device.is_cpu();
  }

  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) final;
  absl::Status reducescatter(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const Reduction& reduction, Call call) final;
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) final;
  absl::StatusOr<bool> allgather_alike(std::span<const std::byte> mine,
                                       std::span<std::size_t> bytes_of_rank,
                                       std::byte* output, Call call) final;
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) final;
  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes,
                        std::byte* output,
                        std::span<const std::size_t> receive_bytes,
                        Call call) final;
  absl::StatusOr<bool> alltoall_alike(std::span<const std::byte> input,
                                      std::span<std::size_t> sizes,
                                      std::byte* output, Call call) final;
  absl::Status barrier(Call call) final;

 protected:
  // `rank` is this rank's position among `ranks`. If `fitness` is an error, all
  // calls return it.
  HostPlane(int rank, int ranks, const absl::Status& fitness)
      : rank_(rank), ranks_(ranks), failure_(fitness) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

 private:
  // The calls of DataPlane after the checks: between two or more ranks, and
  // with something to move (but an Exchange, a GatherAlike or an ExchangeAlike
  // may be empty). The root of a Broadcast already has its output, unless the
  // plane meets in a broadcast.
  virtual absl::Status move(std::span<const Piece> pieces,
                            const ReduceKernel& kernel, const Call& call) = 0;
  virtual absl::Status move(std::span<const Piece> pieces,
                            std::span<const std::int64_t> counts,
                            const ReduceKernel& kernel, const Call& call) = 0;
  virtual absl::Status move(const Gather& gather, const Call& call) = 0;
  virtual absl::Status move(const Broadcast& broadcast, const Call& call) = 0;
  virtual absl::Status move(const Exchange& exchange, const Call& call) = 0;
  virtual absl::Status meet(const Call& call) = 0;
  // Called only if gathers_alike().
  virtual absl::StatusOr<bool> move(const GatherAlike& gather,
                                    const Call& call);
  virtual absl::StatusOr<bool> move(const ExchangeAlike& exchange,
                                    const Call& call);
  // An allreduce by Adasum, as move(). Called only if reduces_by(Adasum).
  virtual absl::Status merge(std::span<const Piece> pieces,
                             const Reduction& reduction, const Call& call);

  // Records the outcome of a call.
  absl::Status noted(const absl::Status& outcome);

  const int rank_;
  const int ranks_;
  absl::Status failure_;
};

}  // namespace hvd::collective
