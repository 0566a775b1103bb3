// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/packing.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using Copy = device::CudaKernels::Piece;

}  // namespace

IpcPacking::IpcPacking(IpcWindow& window, std::span<const Piece> pieces,
                       std::span<const Range> wanted, std::size_t element_bytes)
    : window_(window),
      pieces_(pieces),
      wanted_(wanted),
      element_bytes_(element_bytes) {
  for (const Piece& piece : pieces) {
    is_near_.push_back(piece.count > 0 && is_on_gpu(piece.input) &&
                       (piece.output == piece.input ||
                        piece.output == nullptr || is_on_gpu(piece.output)));
  }
}

bool IpcPacking::is_on_gpu(const void* memory) const {
  const absl::StatusOr<int> gpu = window_.cuda().device_of(memory);
  return gpu.ok() && *gpu == window_.gpu();
}

// What does not lie on the window's GPU, such as the neutral value of a rank that has
// joined, is copied by the driver, and so is what needs no table.
absl::Status IpcPacking::copy(const Copies& copies) {
  std::vector<Copy> near;
  for (const auto& [piece, copy] : copies) {
    if (copies.size() > 1 && is_near_[piece]) {
      near.push_back(copy);
    } else {
      HVD_RETURN_IF_ERROR(window_.stream().copy(
          copy.to, copy.from, static_cast<std::size_t>(copy.count)));
    }
  }
  return window_.kernels().copy(window_.stream(), near);
}

absl::Status IpcPacking::pack(std::uint64_t number, std::span<const Run> runs) {
  if (runs.empty()) return absl::OkStatus();
  Copies copies;
  for (const Run& run : runs) {
    const auto* const input =
        static_cast<const std::byte*>(pieces_[run.piece].input);
    const auto size = static_cast<std::int64_t>(element_bytes_);
    copies.emplace_back(run.piece, Copy{.from = input + run.begin * size,
                                        .to = window_.half(number) + run.place,
                                        .count = run.count * size});
  }
  HVD_RETURN_IF_ERROR(copy(copies));
  return window_.tell_packed(number);
}

absl::Status IpcPacking::unpack(std::uint64_t number,
                                std::span<const Run> runs) {
  Copies copies;
  for (const Run& run : runs) {
    const Range& wanted = wanted_[run.piece];
    const std::int64_t begin = std::max(run.begin, wanted.begin);
    const std::int64_t end =
        std::min(run.begin + run.count, wanted.begin + wanted.count);
    if (begin >= end) continue;
    auto* const output = static_cast<std::byte*>(pieces_[run.piece].output);
    const auto size = static_cast<std::int64_t>(element_bytes_);
    copies.emplace_back(run.piece,
                        Copy{.from = window_.half(number) + run.place +
                                     (begin - run.begin) * size,
                             .to = output + (begin - wanted.begin) * size,
                             .count = (end - begin) * size});
  }
  return copy(copies);
}

}  // namespace hvd::collective
