// SPDX-License-Identifier: Apache-2.0
// One call through the windows of several nodes: chunk by chunk packed, reduced on each
// node into accumulators, merged between the nodes by way of the host, spread on each
// node, unpacked.
//
// Each rank does so for its share of a chunk, that of the lanes it drives (see
// hierarchical/lanes.h): a kernel reduces it from all windows of the node, into memory
// behind the chunk in its own window; a copy brings it down to the host, LaneTraffic
// merges it with what the other nodes have, and another copy brings the results up, into
// the rank's own window first, from where a kernel takes them to the others'. So of
// a tensor each rank moves its share alone over the bus of its GPU, once each way, and the
// order of summation is that of a HierarchicalReduction: the bits are the same.
//
// While chunk k is on the wires, the GPU packs and reduces chunk k + 1, and unpacks chunk
// k - 1. The steps of the board number what has been recorded:
//
//   0           chunk 0 is packed
//   then, for each chunk k,
//     a         chunk k + 1 is packed (not for the last one)
//     b         the results of chunk k are spread
//   the last    nothing is left to enqueue
//
// So an event is recorded again only when all ranks of the node have enqueued their waits
// for its last recording: those for "chunk k is packed" before b of chunk k, after
// which chunk k + 2 is packed; those for "chunk k is spread" before a of chunk k + 1,
// after which chunk k + 2 is spread. A share is read and written in any window by
// none but its rank from the time that a chunk is packed until it has been spread.
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
#include "horovodpp/collective/hierarchical/seat.h"
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
    const Neighbourhood& all;  // Of this node.
    GpuWait& wait;             // Of the call.
    const Call& call;
  };
  // What is reduced, and how. Of each piece the elements that are `wanted` are for its
  // output; `needed` says where any of the elements of a chunk's runs are.
  struct Task {
    std::span<const Piece> pieces;
    std::span<const Range> wanted;
    const Reduction& reduction;
    const ReduceKernel&
        kernel;  // Its accumulators are those of the GPU's kernels.
    std::function<bool(int node, const Run& run)> needed =
        {};  // Empty: everywhere.
  };

  // What is copied between a window and the wires lies in pinned memory of the window's.
  //   ResourceExhausted  the host has not that much that can be pinned
  static absl::Status pin(IpcWindow& window, const HierarchicalLanes& lanes);

  // All is borrowed; the window's memory has been pinned.
  IpcLanesReducing(const Means& means, const Task& task);

  // Within a call on the board, when all members are known to have entered it; returns
  // once the results are in place.
  absl::Status run();

 private:
  struct Chunk {
    std::uint64_t number = 0;
    std::vector<Run> runs = {};
  };
  // What of a chunk is on the host.
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
  // Of this rank.
  Range share_of(const Chunk& chunk) const;
  std::byte* accumulators_on_gpu(const Chunk& chunk) const;

  absl::Status reduce_on_node(const Chunk& chunk);
  absl::Status merge_between_nodes(const Chunk& chunk);
  std::deque<LaneTraffic::Lane> traffic_of(const Chunk& chunk);
  bool is_needed(int node, const Chunk& chunk, const Range& range) const;
  absl::Status spread_on_node(const Chunk& chunk);

  const HierarchicalSeat& seat_;
  IpcWindow& window_;
  const Neighbourhood& all_;
  GpuWait& wait_;
  const Call& call_;
  const Task task_;
  const std::size_t element_bytes_;
  const std::size_t accumulator_bytes_;
  const std::size_t chunk_bytes_;  // Of a half; behind them are accumulators.
  Chunks chunks_;
  IpcPacking packing_;
  std::uint64_t numbered_ = 0;  // Chunks.
  std::array<Slot, kWindowHalves> slots_;
};

}  // namespace hvd::collective
