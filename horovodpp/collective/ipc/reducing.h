// SPDX-License-Identifier: Apache-2.0
// An IpcReducing is one reduction on the GPUs of a node, through the IPC
// windows of its ranks: each chunk is packed, reduced and unpacked.
//
// Before a call that is not certain the ranks make sure, by a step of the
// board, that all have entered it. The later steps number the recorded events.
// A rank arrives at step 0 when chunk 0 is packed in its stream. It arrives at
// step k + 1 when chunk k is reduced and chunk k + 1 packed there, and at a
// last step when all work is enqueued. So:
// - An event is recorded again only when all ranks have enqueued, or ended,
//   their waits for its last recording. The waits for "chunk k is packed" come
//   before step k + 1, after which that half is packed for chunk k + 2. The
//   waits for "chunk k is reduced" come before step k + 2, after which it is
//   reduced for chunk k + 2.
// - Memory is not overwritten while other ranks use it. Before a rank unpacks
//   chunk k its stream waits until all have reduced it, and they touch that
//   half of its window at no other time.
// - A rank may destroy its events once its call returns: no rank will wait for
//   them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/ipc/packing.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

class IpcReducing {
 public:
  struct Means {
    const BoardSeat& seat;
    IpcWindow& window;
    const PeerWindows& all;
    GpuWait& wait;  // The call's.
    const Call& call;
  };
  // `wanted` has for each piece the elements that its output receives. Borrows
  // everything.
  IpcReducing(const Means& means, std::span<const Piece> pieces,
              std::span<const Range> wanted, const Reduction& reduction);

  // Runs within a call on the board; returns once the results are in place.
  // Cancelled: nothing has changed.
  absl::Status run();

 private:
  absl::Status reduce(std::uint64_t number, std::span<const Run> runs);

  const BoardSeat& seat_;
  IpcWindow& window_;
  const PeerWindows& all_;
  GpuWait& wait_;
  const Call& call_;
  const Reduction& reduction_;
  const std::size_t element_bytes_;
  Chunks chunks_;
  IpcPacking packing_;
};

}  // namespace hvd::collective
