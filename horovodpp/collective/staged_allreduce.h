// SPDX-License-Identifier: Apache-2.0
// A StagedAllreduce reduces tensors of a GPU by way of the host, in chunks that overlap:
// while one is reduced there, the next is on its way down, and the last on its way up.
//
// A rank that has nothing on a GPU makes the same calls, with what it has on the host; what
// one has on the host besides is copied by the host, for the GPU's copies of such memory
// keep their caller until the stream has come to them.
//
// Each chunk is a call of the host's plane, with the next tag. One slot of memory is
// used by every third chunk: it is fetched into once what was there has gone up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/staging_lane.h"

namespace hvd::collective {

class StagedAllreduce {
 public:
  struct Means {
    StagingLane* lane;  // nullptr: all pieces lie on the host, and stay there.
    const std::vector<bool>& on_host;  // Whether each piece does.
    DataPlane& plane;                  // Has the reduction.
    GpuWait& wait;                     // Of the call.
  };
  // All is borrowed.
  StagedAllreduce(const Means& means, std::span<const Piece> pieces,
                  const Reduction& reduction, const Chunks::Limits& limits);

  // Once, when all members are known to enter the call.
  absl::Status run(const Call& call);

 private:
  struct Slot {
    std::vector<Run> runs;
    std::byte* memory = nullptr;
    std::optional<device::CudaEvent> fetched;
    std::optional<device::CudaEvent> brought_back;
  };

  Slot& slot(std::uint64_t chunk) { return slots_[chunk % slots_.size()]; }
  absl::Status fetch(std::uint64_t chunk);
  absl::Status reduce(const Slot& slot, const Call& call);
  absl::Status finish();
  absl::Status bring_back(Slot& slot);

  StagingLane* const lane_;
  const std::vector<bool>& on_host_;
  DataPlane& plane_;
  GpuWait& wait_;
  const std::span<const Piece> pieces_;
  const Reduction& reduction_;
  const std::size_t element_bytes_;
  Chunks chunks_;
  std::array<Slot, StagingLane::kSlots> slots_;
};

}  // namespace hvd::collective
