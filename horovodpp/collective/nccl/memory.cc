// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::StatusOr<std::shared_ptr<std::byte>> NcclArena::allocate(
    const NcclApi& nccl, const device::CudaContext& context,
    std::size_t bytes) {
  const device::CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  void* place = nullptr;
  const absl::Status status =
      status_of(nccl, nccl.ncclMemAlloc(&place, bytes), "ncclMemAlloc");
  if (!status.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes on GPU ", context.index,
                     ": ", status.message()));
  }
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(place),
      [context, free = nccl.ncclMemFree](std::byte* gone) {
        const device::CurrentContext owner(context);
        free(gone);
      });
  const MutexLock lock(mutex_);
  known_.push_back({.memory = memory, .bytes = bytes, .gpu = context.index});
  return memory;
}

std::vector<NcclArena::Block> NcclArena::blocks_on(int gpu) {
  const MutexLock lock(mutex_);
  known_.erase(
      std::remove_if(known_.begin(), known_.end(),
                     [](const Known& one) { return one.memory.expired(); }),
      known_.end());
  std::vector<Block> blocks;
  for (const Known& one : known_) {
    if (one.gpu != gpu) continue;
    if (auto memory = one.memory.lock()) {
      blocks.push_back({.memory = std::move(memory), .bytes = one.bytes});
    }
  }
  return blocks;
}

namespace {

// Steps of splitmix64: equal in all processes, unlike a hash table's hash.
std::uint64_t mixed(std::uint64_t mark, std::uint64_t next) {
  std::uint64_t x = mark + next + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<NcclWindows::Place> NcclWindows::find(const void* memory,
                                                    std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(memory);
  const std::less_equal<const std::byte*> comes_before;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Window& window = all_[i];
    if (comes_before(window.memory, begin) &&
        comes_before(begin + bytes, window.memory + window.bytes)) {
      return Place{.window = i,
                   .offset = static_cast<std::size_t>(begin - window.memory)};
    }
  }
  return std::nullopt;
}

std::vector<Piece> NcclWindows::joined(std::span<const Piece> pieces,
                                       DType dtype) const {
  std::vector<Piece> runs;
  std::size_t window_of_run[2] = {};
  for (const Piece& piece : pieces) {
    if (piece.count == 0) continue;
    const std::size_t bytes = bytes_of(piece, dtype);
    const std::size_t window_of_piece[2] = {find(piece.input, bytes)->window,
                                            find(piece.output, bytes)->window};
    const auto follows = [&](const void* next, const void* first) {
      return next == static_cast<const std::byte*>(first) +
                         bytes_of(runs.back(), dtype);
    };
    if (!runs.empty() && window_of_piece[0] == window_of_run[0] &&
        window_of_piece[1] == window_of_run[1] &&
        follows(piece.input, runs.back().input) &&
        follows(piece.output, runs.back().output)) {
      runs.back().count += piece.count;
      continue;
    }
    runs.push_back(piece);
    window_of_run[0] = window_of_piece[0];
    window_of_run[1] = window_of_piece[1];
  }
  return runs;
}

void NcclPlacement::add(const void* memory, std::size_t bytes) {
  if (windows_.empty() || bytes == 0) return;
  any_ = true;
  const auto place = windows_.find(memory, bytes);
  if (!place) is_outside_ = true;
  mark_ = mixed(mark_, place ? place->window + 1 : 0);
  mark_ = mixed(mark_, place ? place->offset : 0);
}

}  // namespace hvd::collective
