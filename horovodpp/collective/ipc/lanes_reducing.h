// SPDX-License-Identifier: Apache-2.0
// An IpcLanesReducing is one reduction on the GPUs of several nodes, through
// IPC windows. Each chunk is packed, reduced on each node into accumulators,
// merged between the nodes through the host, spread on each node, and unpacked.
//
// Each rank handles its share of a chunk: that of the lanes it drives (see
// hierarchical/lanes.h).
//
// - A kernel reduces the share from all windows of the node, into memory behind
//   the chunk in the rank's own window.
// - A copy brings it to the host, and LaneTraffic merges it with the other
//   nodes' shares.
// - Another copy brings the results to the rank's own window, and a kernel
//   copies them to the others' windows.
//
// So each rank moves only its share of a tensor over its GPU's bus, once each
// way. The order of summation is that of a HierarchicalReduction: the bits are
// the same.
//
// While chunk k is on the wires, the GPU packs and reduces chunk k + 1, and
// unpacks chunk k - 1. The steps of the board number the recorded events:
//
//   0           chunk 0 is packed
//   then, for each chunk k,
//     a         chunk k + 1 is packed (not for the last one)
//     b         the results of chunk k are spread
//   the last    nothing is left to enqueue
//
// So an event is recorded again only when all ranks of the node have enqueued
// their waits for its last recording. The waits for "chunk k is packed" come
// before b of chunk k, after which chunk k + 2 is packed. Those for "chunk k is
// spread" come before a of chunk k + 1, after which chunk k + 2 is spread. From
// packing to spreading, only its rank reads and writes a share, in any window.
// (Memory, and the end of a call: see reducing.h.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/hierarchical/lane_traffic.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/ipc/packing.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

class IpcLanesReducing {
 public:
  struct Means {
    const HierarchicalSeat& seat;
    IpcWindow& window;
    const PeerWindows& all;  // The windows of this node.
    GpuWait& wait;           // The call's.
    const Call& call;
  };
  // The reduction's task. `wanted` has for each piece the elements that its
  // output receives. `needed` tells whether a node needs any elements of a run.
  struct Task {
    std::span<const Piece> pieces;
    std::span<const Range> wanted;
    const Reduction& reduction;
    const ReduceKernel& kernel;  // Has the accumulators of the GPU's kernels.
    std::function<bool(int node, const Run& run)> needed =
        {};  // Empty: all nodes do.
  };

  // Pins memory of the window for copies between the window and the wires.
  //   ResourceExhausted  the host cannot pin so much memory
  static absl::Status pin(IpcWindow& window, const HierarchicalLanes& lanes);

  // Borrows everything; pin() was called for the window.
  IpcLanesReducing(const Means& means, const Task& task);

  // Runs within a call on the board, when all members are known to have entered
  // it; returns once the results are in place.
  absl::Status run();

 private:
  struct Chunk {
    std::uint64_t number = 0;
    std::vector<Run> runs = {};
  };
  // The part of a chunk that is on the host.
  struct Slot {
    std::byte* accumulators = nullptr;
    std::byte* results = nullptr;
    std::optional<device::CudaEvent> fetched = {};
  };

  absl::Status find_slots();
  Chunk next();
  Slot& slot(const Chunk& chunk) {
    return slots_[chunk.number % slots_.size()];
  }
  Range lanes_in(const Chunk& chunk, HierarchicalLanes::Run lanes) const;
  // This rank's share.
  Range share_of(const Chunk& chunk) const;
  std::byte* accumulators_on_gpu(const Chunk& chunk) const;

  absl::Status reduce_on_node(const Chunk& chunk);
  absl::Status merge_between_nodes(const Chunk& chunk);
  std::deque<LaneTraffic::Lane> traffic_of(const Chunk& chunk);
  bool is_needed(int node, const Chunk& chunk, const Range& range) const;
  absl::Status spread_on_node(const Chunk& chunk);

  const HierarchicalSeat& seat_;
  IpcWindow& window_;
  const PeerWindows& all_;
  GpuWait& wait_;
  const Call& call_;
  const Task task_;
  const std::size_t element_bytes_;
  const std::size_t accumulator_bytes_;
  const std::size_t chunk_bytes_;  // Part of a half; accumulators follow.
  Chunks chunks_;
  IpcPacking packing_;
  std::uint64_t numbered_ = 0;  // The number of chunks so far.
  std::array<Slot, kWindowHalves> slots_;
};

}  // namespace hvd::collective
