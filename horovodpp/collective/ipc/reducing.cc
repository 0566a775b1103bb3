// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/reducing.h"

#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// The most operations of a chunk besides its copies, for packing or for
// unpacking: waits for the others, a kernel, two events.
constexpr std::size_t kOperationsOfChunk = device::kernels::kMostMembers + 3;

}  // namespace

IpcReducing::IpcReducing(const Means& means, std::span<const Piece> pieces,
                         std::span<const Range> wanted,
                         const Reduction& reduction)
    : seat_(means.seat),
      window_(means.window),
      all_(means.all),
      wait_(means.wait),
      call_(means.call),
      reduction_(reduction),
      element_bytes_(size_of(reduction.dtype)),
      chunks_(pieces, element_bytes_,
              {.memory_bytes = means.window.half_bytes()}),
      packing_({window_, wait_, call_}, pieces, wanted, reduction) {}

absl::Status IpcReducing::run() {
  // Work in a stream cannot be given up, so enqueue none before all members are
  // known to have entered the call.
  if (!call_.certain) HVD_RETURN_IF_ERROR(seat_.meet());
  HVD_RETURN_IF_ERROR(packing_.prepare());
  HVD_RETURN_IF_ERROR(window_.follow(call_, wait_));
  std::vector<Run> runs = chunks_.next();
  HVD_RETURN_IF_ERROR(packing_.pack(0, runs));
  HVD_RETURN_IF_ERROR(seat_.meet());
  for (std::uint64_t k = 0; !runs.empty(); ++k) {
    std::vector<Run> next = chunks_.next();
    HVD_RETURN_IF_ERROR(reduce(k, runs));
    // Gives the GPU work while the host waits for the others' slices.
    HVD_RETURN_IF_ERROR(packing_.pack(k + 1, next));
    HVD_RETURN_IF_ERROR(seat_.meet());
    HVD_RETURN_IF_ERROR(window_.make_room(kOperationsOfChunk, wait_));
    HVD_RETURN_IF_ERROR(all_.await_reduced(window_, k, wait_));
    HVD_RETURN_IF_ERROR(packing_.unpack(k, runs));
    runs = std::move(next);
  }
  const std::uint64_t last = seat_.board.steps();
  seat_.board.arrive();
  HVD_RETURN_IF_ERROR(wait_.until_end_of(window_.stream()));
  return seat_.board.wait_for_arrivals(last, seat_.interrupt);
}

// Reduces this rank's slice from all windows.
absl::Status IpcReducing::reduce(std::uint64_t number,
                                 std::span<const Run> runs) {
  HVD_RETURN_IF_ERROR(window_.make_room(kOperationsOfChunk, wait_));
  HVD_RETURN_IF_ERROR(all_.await_packed(window_, number, wait_));
  // The gaps between runs are reduced, too, but never read.
  const auto count =
      static_cast<std::int64_t>(chunks_.end_of(runs) / element_bytes_);
  const Range slice = seat_.slice_of(seat_.rank, count, element_bytes_);
  const auto ranks = static_cast<std::uint32_t>(seat_.ranks());
  device::kernels::ReduceArguments arguments = {
      .members = ranks,
      .outputs = ranks,
      .op = reduction_.op,
      .count = slice.count,
      .prescale = reduction_.prescale,
      .postscale = reduction_.postscale,
      .divisor = divisor_of(reduction_, seat_.ranks())};
  for (std::size_t m = 0; m < ranks; ++m) {
    arguments.memory[m] =
        all_.half(m, number) +
        static_cast<std::size_t>(slice.begin) * element_bytes_;
  }
  HVD_RETURN_IF_ERROR(
      window_.kernels().reduce(window_.stream(), reduction_.dtype, arguments));
  return window_.announce_reduced(number);
}

}  // namespace hvd::collective
