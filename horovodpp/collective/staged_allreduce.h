// SPDX-License-Identifier: Apache-2.0
// A StagedAllreduce reduces GPU tensors on the host, in chunks that overlap.
// While one chunk is reduced, the next is copied down to the host and the last
// up to the GPU.
//
// A rank without tensors on a GPU makes the same calls with its host memory. If
// a rank with a GPU also has pieces on the host, the host copies them. The
// GPU's copies of such memory would block until the stream reaches them.
//
// Each chunk is a call of the host's plane, with the next tag. Every third
// chunk uses the same slot of memory; a slot is filled again once its contents
// have been copied up.
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
    StagingLane* lane;                 // nullptr: all pieces stay on the host.
    const std::vector<bool>& on_host;  // For each piece.
    DataPlane& plane;                  // Supports the reduction.
    GpuWait& wait;                     // The call's.
  };
  // Borrows everything.
  StagedAllreduce(const Means& means, std::span<const Piece> pieces,
                  const Reduction& reduction, const Chunks::Limits& limits);

  // Call it once, when all members are known to enter the call.
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
