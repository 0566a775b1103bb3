// SPDX-License-Identifier: Apache-2.0
// Packs the pieces of a call into a rank's window, chunk by chunk, and unpacks
// results. All work is enqueued on the window's stream.
//
// A piece on the host belongs to a rank that has joined: it is the reduction's
// identity, and its result is dropped. The identity is copied from pinned
// memory, because a copy from or to other host memory blocks until the stream
// reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/device/cuda_kernels.h"

namespace hvd::collective {

class IpcPacking {
 public:
  struct Means {
    IpcWindow& window;
    GpuWait& wait;  // The call's.
    const Call& call;
  };
  // `wanted` has for each piece the elements that its output receives. Borrows
  // everything.
  IpcPacking(const Means& means, std::span<const Piece> pieces,
             std::span<const Range> wanted, const Reduction& reduction);

  // Call it before the first chunk, when the window's stream is empty.
  absl::Status prepare();

  // Fills the half of chunk `number`, and announces that it is packed; does
  // nothing without runs.
  absl::Status pack(std::uint64_t number, std::span<const Run> runs);
  // Copies the wanted elements out of the packed memory.
  absl::Status unpack(std::uint64_t number, std::span<const Run> runs);

 private:
  // Where a piece lies: in reach of the window's kernels, on another GPU, or on
  // the host.
  enum class Place { kNear, kFar, kHost };
  // Copies, each with the index of its piece.
  using Copies =
      std::vector<std::pair<std::size_t, device::CudaKernels::Piece>>;
  absl::Status copy(const Copies& copies);
  absl::Status copy(const device::CudaKernels::Piece& copy);
  absl::Status fill(std::byte* to, std::size_t bytes);
  Place place_of(const Piece& piece, const Call& call) const;

  IpcWindow& window_;
  GpuWait& wait_;
  const std::span<const Piece> pieces_;
  const std::span<const Range> wanted_;
  const Reduction& reduction_;
  const std::size_t element_bytes_;
  std::vector<Place> places_;           // Of the pieces.
  const std::byte* neutral_ = nullptr;  // nullptr: no piece lies on the host.
};

}  // namespace hvd::collective
