// SPDX-License-Identifier: Apache-2.0
// How the pieces of a call get into a rank's window, chunk by chunk, and results out of
// it: all of it put into the window's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/chunks.h"
#include "horovodpp/collective/ipc/window.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/device/cuda_kernels.h"

namespace hvd::collective {

class IpcPacking {
 public:
  // `wanted` has for each piece the elements that its output is for. All is borrowed.
  IpcPacking(IpcWindow& window, std::span<const Piece> pieces,
             std::span<const Range> wanted, std::size_t element_bytes);

  // Fills the half of chunk `number`, and tells that it is packed; nothing where there
  // are no runs.
  absl::Status pack(std::uint64_t number, std::span<const Run> runs);
  // Takes what is wanted out of it.
  absl::Status unpack(std::uint64_t number, std::span<const Run> runs);

 private:
  // Of which piece each is.
  using Copies =
      std::vector<std::pair<std::size_t, device::CudaKernels::Piece>>;
  absl::Status copy(const Copies& copies);
  bool is_on_gpu(const void* memory) const;

  IpcWindow& window_;
  const std::span<const Piece> pieces_;
  const std::span<const Range> wanted_;
  const std::size_t element_bytes_;
  std::vector<bool>
      is_near_;  // Of pieces: whether they lie on the window's GPU.
};

}  // namespace hvd::collective
