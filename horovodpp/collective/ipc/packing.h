// SPDX-License-Identifier: Apache-2.0
// How the pieces of a call get into a rank's window, chunk by chunk, and results out of
// it: all of it put into the window's stream.
//
// A piece on the host is that of a rank that has joined: the reduction's identity, whose
// result nobody wants. That identity comes from pinned memory, for a copy to or from other
// memory of the host keeps its caller until the stream has come to it.
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
    GpuWait& wait;  // Of the call.
    const Call& call;
  };
  // `wanted` has for each piece the elements that its output is for. All is borrowed.
  IpcPacking(const Means& means, std::span<const Piece> pieces,
             std::span<const Range> wanted, const Reduction& reduction);

  // Before the first chunk, when the window's stream is empty.
  absl::Status prepare();

  // Fills the half of chunk `number`, and tells that it is packed; nothing where there
  // are no runs.
  absl::Status pack(std::uint64_t number, std::span<const Run> runs);
  // Takes what is wanted out of it.
  absl::Status unpack(std::uint64_t number, std::span<const Run> runs);

 private:
  // Where a piece lies: where the window's kernels reach it, on another GPU, or on the
  // host.
  enum class Place { kNear, kFar, kHost };
  // Of which piece each is.
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
  const std::byte* neutral_ = nullptr;  // Nothing lies on the host.
};

}  // namespace hvd::collective
