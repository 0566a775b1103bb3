// SPDX-License-Identifier: Apache-2.0
// One call through the windows of all ranks: chunk by chunk packed, reduced, unpacked.
//
// The steps of the board number what has been recorded: before a rank arrives at step
// 0 it has packed chunk 0; before step k + 1 it has reduced chunk k and packed chunk
// k + 1. So an event of a half is recorded again only after all ranks wait for its
// last recording: the half of chunk k is packed for chunk k + 2 after step k + 1, at
// which everybody arrives waiting for chunk k to be packed; and it is reduced after
// step k + 2, likewise. Nor is memory overwritten that others use: before a rank
// unpacks chunk k its stream waits until all have reduced it, and they touch that half
// of its window at no other time. At a last step all wait for all they wait for, so that
// whoever returns may destroy its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class IpcReducing {
 public:
  struct Means {
    const BoardSeat& seat;
    IpcWindow& window;
    const Neighbourhood& all;
  };
  // `wanted` has for each piece the elements that its output is for. All is borrowed.
  IpcReducing(const Means& means, std::span<const Piece> pieces,
              std::span<const Range> wanted, const Reduction& reduction);

  // Within a call on the board; returns once the results are in place. If it fails
  // before all have arrived at step 0, nothing has been written but windows.
  absl::Status run(const Call& call);

 private:
  absl::Status pack(std::uint64_t number, std::span<const Run> runs);
  absl::Status reduce(std::uint64_t number, std::span<const Run> runs);
  absl::Status unpack(std::uint64_t number, std::span<const Run> runs);
  // Of which piece each is.
  using Copies =
      std::vector<std::pair<std::size_t, device::CudaKernels::Piece>>;
  absl::Status copy(const Copies& copies);
  bool is_on_gpu(const void* memory) const;
  absl::Status wait_for_arrivals(std::uint64_t step);
  absl::Status wait_for_stream();

  const BoardSeat& seat_;
  IpcWindow& window_;
  const Neighbourhood& all_;
  const std::span<const Piece> pieces_;
  const std::span<const Range> wanted_;
  const Reduction& reduction_;
  const std::size_t element_bytes_;
  Chunks chunks_;
  std::vector<bool>
      is_near_;  // Of pieces: whether they lie on the window's GPU.
};

}  // namespace hvd::collective
