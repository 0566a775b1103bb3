// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/reducing.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using Copy = device::CudaKernels::Piece;

// Between two looks at whether the GPU is done.
constexpr std::chrono::microseconds kFirstPause(5);
constexpr std::chrono::microseconds kLongestPause(100);

}  // namespace

IpcReducing::IpcReducing(const Means& means, std::span<const Piece> pieces,
                         std::span<const Range> wanted,
                         const Reduction& reduction)
    : seat_(means.seat),
      window_(means.window),
      all_(means.all),
      pieces_(pieces),
      wanted_(wanted),
      reduction_(reduction),
      element_bytes_(size_of(reduction.dtype)),
      chunks_(pieces, element_bytes_,
              {.memory_bytes = means.window.half_bytes()}) {
  for (const Piece& piece : pieces) {
    is_near_.push_back(piece.count > 0 && is_on_gpu(piece.input) &&
                       (piece.output == piece.input ||
                        piece.output == nullptr || is_on_gpu(piece.output)));
  }
}

absl::Status IpcReducing::run(const Call& call) {
  for (const device::CudaEvent* const event : call.after) {
    HVD_RETURN_IF_ERROR(window_.stream().wait_for(*event));
  }
  const std::uint64_t first = seat_.board.steps();
  std::uint64_t k = 0;
  std::vector<Run> runs = chunks_.next();
  HVD_RETURN_IF_ERROR(pack(0, runs));
  seat_.board.arrive();
  const absl::Status entered = wait_for_arrivals(first);
  if (!entered.ok()) {
    // The inputs are the caller's again.
    HVD_RETURN_IF_ERROR(window_.stream().synchronize());
    return entered;
  }
  for (; !runs.empty(); ++k) {
    std::vector<Run> next = chunks_.next();
    HVD_RETURN_IF_ERROR(pack(k + 1, next));
    HVD_RETURN_IF_ERROR(reduce(k, runs));
    seat_.board.arrive();
    HVD_RETURN_IF_ERROR(wait_for_arrivals(first + k + 1));
    HVD_RETURN_IF_ERROR(unpack(k, runs));
    runs = std::move(next);
  }
  seat_.board.arrive();
  HVD_RETURN_IF_ERROR(wait_for_stream());
  return wait_for_arrivals(first + k + 1);
}

absl::Status IpcReducing::wait_for_arrivals(std::uint64_t step) {
  return seat_.board.wait_for_arrivals(step, seat_.interrupt);
}

// Not by blocking in the driver: what the stream waits for may never come, if a rank
// has died.
absl::Status IpcReducing::wait_for_stream() {
  device::CudaStream& stream = window_.stream();
  HVD_ASSIGN_OR_RETURN(
      const device::CudaEvent done,
      device::CudaEvent::after(stream.context(), stream.handle()));
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    HVD_ASSIGN_OR_RETURN(const bool is_done, done.has_happened());
    if (is_done) return stream.synchronize();
    HVD_RETURN_IF_ERROR(seat_.interrupt.check());
    std::this_thread::sleep_for(pause);
  }
}

bool IpcReducing::is_on_gpu(const void* memory) const {
  const absl::StatusOr<int> gpu = window_.cuda().device_of(memory);
  return gpu.ok() && *gpu == window_.gpu();
}

// What does not lie on the window's GPU, such as the neutral value of a rank that has
// joined, is copied by the driver, and so is what needs no table.
absl::Status IpcReducing::copy(const Copies& copies) {
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

absl::Status IpcReducing::pack(std::uint64_t number,
                               std::span<const Run> runs) {
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

// This rank's slice, of all windows.
absl::Status IpcReducing::reduce(std::uint64_t number,
                                 std::span<const Run> runs) {
  HVD_RETURN_IF_ERROR(all_.await_packed(window_, number));
  // What lies between two runs is reduced, too, and read by nobody.
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
      .postscale = reduction_.postscale};
  if (reduction_.op == ReduceOp::kAverage) {
    arguments.divisor =
        reduction_.participants > 0 ? reduction_.participants : seat_.ranks();
  }
  for (std::size_t m = 0; m < ranks; ++m) {
    arguments.memory[m] =
        all_.half(m, number) +
        static_cast<std::size_t>(slice.begin) * element_bytes_;
  }
  HVD_RETURN_IF_ERROR(
      window_.kernels().reduce(window_.stream(), reduction_.dtype, arguments));
  return window_.tell_reduced(number);
}

absl::Status IpcReducing::unpack(std::uint64_t number,
                                 std::span<const Run> runs) {
  HVD_RETURN_IF_ERROR(all_.await_reduced(window_, number));
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
