// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/packing.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using Copy = device::CudaKernels::Piece;

}  // namespace

IpcPacking::IpcPacking(const Means& means, std::span<const Piece> pieces,
                       std::span<const Range> wanted,
                       const Reduction& reduction)
    : window_(means.window),
      wait_(means.wait),
      pieces_(pieces),
      wanted_(wanted),
      reduction_(reduction),
      element_bytes_(size_of(reduction.dtype)) {
  for (const Piece& piece : pieces) {
    places_.push_back(place_of(piece, means.call));
  }
}

IpcPacking::Place IpcPacking::place_of(const Piece& piece,
                                       const Call& call) const {
  if (piece.count == 0) return Place::kFar;
  if (call.gpu) return *call.gpu == window_.gpu() ? Place::kNear : Place::kFar;
  const absl::StatusOr<int> from = window_.cuda().device_of(piece.input);
  if (!from.ok()) return Place::kHost;
  const bool has_other_output =
      piece.output != nullptr && piece.output != piece.input;
  const absl::StatusOr<int> to =
      has_other_output ? window_.cuda().device_of(piece.output) : from;
  const bool is_near = *from == window_.gpu() && to.ok() && *to == *from;
  return is_near ? Place::kNear : Place::kFar;
}

absl::Status IpcPacking::prepare() {
  const bool is_on_gpus =
      std::find(places_.begin(), places_.end(), Place::kHost) == places_.end();
  if (is_on_gpus) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(neutral_, window_.neutral(reduction_));
  return absl::OkStatus();
}

// The driver copies pieces on other GPUs, and pieces that need no table.
absl::Status IpcPacking::copy(const Copies& copies) {
  std::vector<Copy> near;
  for (const auto& [piece, one] : copies) {
    if (copies.size() > 1 && places_[piece] == Place::kNear) {
      near.push_back(one);
    } else {
      HVD_RETURN_IF_ERROR(copy(one));
    }
  }
  for (std::size_t i = 0; i < near.size();) {
    const std::size_t count =
        std::min(near.size() - i, device::CudaKernels::kPiecesOfLaunch);
    HVD_RETURN_IF_ERROR(window_.make_room(1, wait_));
    HVD_RETURN_IF_ERROR(window_.kernels().copy(
        window_.stream(), std::span(near).subspan(i, count)));
    i += count;
  }
  return absl::OkStatus();
}

absl::Status IpcPacking::copy(const Copy& copy) {
  HVD_RETURN_IF_ERROR(window_.make_room(1, wait_));
  return window_.stream().copy(copy.to, copy.from,
                               static_cast<std::size_t>(copy.count));
}

absl::Status IpcPacking::fill(std::byte* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, IpcWindow::kNeutralBytes);
    HVD_RETURN_IF_ERROR(copy(Copy{.from = neutral_,
                                  .to = to + done,
                                  .count = static_cast<std::int64_t>(part)}));
    done += part;
  }
  return absl::OkStatus();
}

absl::Status IpcPacking::pack(std::uint64_t number, std::span<const Run> runs) {
  if (runs.empty()) return absl::OkStatus();
  Copies copies;
  for (const Run& run : runs) {
    const auto* const input =
        static_cast<const std::byte*>(pieces_[run.piece].input);
    const auto size = static_cast<std::int64_t>(element_bytes_);
    if (places_[run.piece] == Place::kHost) {
      HVD_RETURN_IF_ERROR(fill(window_.half(number) + run.place,
                               static_cast<std::size_t>(run.count * size)));
      continue;
    }
    copies.emplace_back(run.piece, Copy{.from = input + run.begin * size,
                                        .to = window_.half(number) + run.place,
                                        .count = run.count * size});
  }
  HVD_RETURN_IF_ERROR(copy(copies));
  return window_.announce_packed(number);
}

absl::Status IpcPacking::unpack(std::uint64_t number,
                                std::span<const Run> runs) {
  Copies copies;
  for (const Run& run : runs) {
    if (places_[run.piece] == Place::kHost) continue;
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
