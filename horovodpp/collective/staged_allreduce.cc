// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/staged_allreduce.h"

#include <cstring>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

absl::Status note(const device::CudaStream& stream,
                  std::optional<device::CudaEvent>& event) {
  HVD_ASSIGN_OR_RETURN(
      device::CudaEvent now,
      device::CudaEvent::after(stream.context(), stream.handle()));
  event.emplace(std::move(now));
  return absl::OkStatus();
}

}  // namespace

StagedAllreduce::StagedAllreduce(const Means& means,
                                 std::span<const Piece> pieces,
                                 const Reduction& reduction,
                                 const Chunks::Limits& limits)
    : lane_(means.lane),
      on_host_(means.on_host),
      plane_(means.plane),
      wait_(means.wait),
      pieces_(pieces),
      reduction_(reduction),
      element_bytes_(size_of(reduction.dtype)),
      chunks_(pieces, element_bytes_, limits) {}

absl::Status StagedAllreduce::run(const Call& call) {
  if (lane_ != nullptr) {
    for (const device::CudaEvent* const event : call.after) {
      HVD_RETURN_IF_ERROR(lane_->down.wait_for(*event, wait_));
    }
  }
  HVD_RETURN_IF_ERROR(fetch(0));
  std::uint64_t chunk = 0;
  do {
    HVD_RETURN_IF_ERROR(fetch(chunk + 1));
    const Call part = {
        .tag = {call.tag.epoch,
                call.tag.sequence + static_cast<std::uint32_t>(chunk)},
        .interrupt = call.interrupt,
        .certain = true,
        .all_take_part = call.all_take_part};
    HVD_RETURN_IF_ERROR(reduce(slot(chunk), part));
    HVD_RETURN_IF_ERROR(bring_back(slot(chunk)));
    ++chunk;
  } while (!slot(chunk).runs.empty());
  return finish();
}

absl::Status StagedAllreduce::finish() {
  if (lane_ == nullptr) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(wait_.until_end_of(lane_->down.stream()));
  return wait_.until_end_of(lane_->up.stream());
}

absl::Status StagedAllreduce::fetch(std::uint64_t chunk) {
  Slot& into = slot(chunk);
  into.runs = chunks_.next();
  if (lane_ == nullptr) return absl::OkStatus();
  // The host waits, because at_least() frees memory when it grows.
  if (into.brought_back) {
    HVD_RETURN_IF_ERROR(wait_.until(*into.brought_back));
  }
  HVD_ASSIGN_OR_RETURN(
      into.memory,
      lane_->slots[chunk % slots_.size()].at_least(chunks_.end_of(into.runs)));
  for (const Run& run : into.runs) {
    const auto* const input =
        static_cast<const std::byte*>(pieces_[run.piece].input) +
        static_cast<std::size_t>(run.begin) * element_bytes_;
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes_;
    if (on_host_[run.piece]) {
      std::memcpy(into.memory + run.place, input, bytes);
    } else {
      HVD_RETURN_IF_ERROR(
          lane_->down.copy(into.memory + run.place, input, bytes, wait_));
    }
  }
  return note(lane_->down.stream(), into.fetched);
}

absl::Status StagedAllreduce::reduce(const Slot& slot, const Call& call) {
  std::vector<Piece> there;
  for (const Run& run : slot.runs) {
    Piece piece = {.count = run.count};
    if (lane_ != nullptr) {
      piece.output = slot.memory + run.place;
      piece.input = piece.output;
    } else {
      const std::size_t skipped =
          static_cast<std::size_t>(run.begin) * element_bytes_;
      const Piece& whole = pieces_[run.piece];
      piece.input = static_cast<const std::byte*>(whole.input) + skipped;
      piece.output = static_cast<std::byte*>(whole.output) + skipped;
    }
    there.push_back(piece);
  }
  if (lane_ != nullptr) HVD_RETURN_IF_ERROR(wait_.until(*slot.fetched));
  return plane_.allreduce(there, reduction_, call);
}

absl::Status StagedAllreduce::bring_back(Slot& slot) {
  if (lane_ == nullptr) return absl::OkStatus();
  for (const Run& run : slot.runs) {
    auto* const output = static_cast<std::byte*>(pieces_[run.piece].output) +
                         static_cast<std::size_t>(run.begin) * element_bytes_;
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes_;
    if (on_host_[run.piece]) {
      std::memcpy(output, slot.memory + run.place, bytes);
    } else {
      HVD_RETURN_IF_ERROR(
          lane_->up.copy(output, slot.memory + run.place, bytes, wait_));
    }
  }
  return note(lane_->up.stream(), slot.brought_back);
}

}  // namespace hvd::collective
