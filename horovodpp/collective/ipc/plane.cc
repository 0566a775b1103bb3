// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/plane.h"

#include <cstring>
#include <utility>

#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/ipc/reducing.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// The next tag, in a call that all members are known to enter.
Call after_meeting(const Call& call) {
  Call next = call;
  ++next.tag.sequence;
  next.certain = true;
  return next;
}

std::uint64_t bytes_of(std::span<const Piece> pieces,
                       const Reduction& reduction) {
  return static_cast<std::uint64_t>(total_count(pieces)) *
         size_of(reduction.dtype);
}

}  // namespace

IpcPlane::IpcPlane(Means means, const Options& options)
    : gpus_(means.gpus),
      board_(means.board),
      members_(std::move(means.members)),
      rank_(position_in(members_, board_.rank()).value_or(0)),
      otherwise_(means.otherwise),
      options_(options) {}

// After a failure the stream may wait for a rank that is gone, and others may still
// write into the window: both are left to the process.
IpcPlane::~IpcPlane() {
  if (failure_.ok() || window_ == nullptr) return;
  static Mutex mutex;
  static auto* const left = new std::vector<
      std::pair<std::unique_ptr<IpcWindow>, std::optional<Neighbourhood>>>;
  const MutexLock lock(mutex);
  left->emplace_back(std::move(window_), std::move(all_));
}

absl::Status IpcPlane::noted(const absl::Status& outcome) {
  if (!absl::IsCancelled(outcome)) failure_ = outcome;
  return outcome;
}

bool IpcPlane::could_reduce(std::span<const Piece> pieces,
                            const Reduction& reduction) const {
  const bool scaled = reduction.op == ReduceOp::kAverage ||
                      reduction.prescale != 1.0 || reduction.postscale != 1.0;
  return ranks() > 1 && members_.size() <= device::kernels::kMostMembers &&
         total_count(pieces) > 0 &&
         sizeof(IpcOffer) <= board_.options().chunk_bytes &&
         device::CudaKernels::reduces(
             {.dtype = reduction.dtype, .op = reduction.op, .scaled = scaled});
}

// A rank that has joined before it had a tensor takes the GPU that a program would.
int IpcPlane::gpu_of(std::span<const Piece> pieces) const {
  const auto cuda = gpus_.driver();
  if (!cuda.ok()) return 0;
  for (const Piece& piece : pieces) {
    if (piece.count == 0) continue;
    const auto gpu = (*cuda)->device_of(piece.input);
    if (gpu.ok()) return *gpu;
  }
  return board_.rank() % (*cuda)->devices();
}

BoardSeat IpcPlane::seat_in(const Call& call) {
  return {.board = board_,
          .members = members_,
          .rank = rank_,
          .writer = writer_,
          .interrupt = call.interrupt};
}

absl::Status IpcPlane::meet(std::span<const Piece> pieces, const Call& call) {
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'y'},
                   [&] { return open_windows(seat, pieces); });
}

// In the first step all show their windows, in the second whether they reach all.
absl::Status IpcPlane::open_windows(const BoardSeat& seat,
                                    std::span<const Piece> pieces) {
  IpcOffer mine = {};
  auto window = IpcWindow::make(gpus_, gpu_of(pieces), options_.half_bytes);
  if (window.ok()) mine = (*window)->offer();
  std::vector<IpcOffer> offers(members_.size());
  bool reached = false;
  const auto show = [&](std::uint64_t step, std::byte* slot) {
    if (step == 0) {
      std::memcpy(slot, &mine, sizeof(mine));
    } else {
      std::memcpy(slot, &reached, sizeof(reached));
    }
  };
  const std::uint64_t first = board_.steps();
  show(0, board_.mine());
  board_.arrive();
  HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first, seat.interrupt));
  for (int r = 0; r < ranks(); ++r) {
    std::memcpy(&offers[static_cast<std::size_t>(r)], seat.slot(r, first),
                sizeof(IpcOffer));
  }
  std::optional<Neighbourhood> all;
  if (window.ok()) {
    auto opened = Neighbourhood::open(**window, offers, rank_);
    reached = opened.ok();
    if (reached) all = *std::move(opened);
  }
  show(1, board_.mine());
  board_.arrive();
  HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first + 1, seat.interrupt));
  bool all_reached = true;
  for (int r = 0; r < ranks(); ++r) {
    all_reached = all_reached && seat.slot(r, first + 1)[0] != std::byte{0};
  }
  connected_ = all_reached;
  if (all_reached) {
    window_ = *std::move(window);
    all_ = std::move(all);
  }
  return absl::OkStatus();
}

template <typename Reduce, typename Other>
absl::Status IpcPlane::choose(std::span<const Piece> pieces,
                              const Reduction& reduction, const Call& call,
                              Reduce reduce, Other other) {
  HVD_RETURN_IF_ERROR(failure_);
  if (!could_reduce(pieces, reduction)) return other(call);
  const bool meets = !connected_.has_value();
  if (meets) HVD_RETURN_IF_ERROR(noted(meet(pieces, call)));
  const Call next = meets ? after_meeting(call) : call;
  if (!*connected_) return other(next);
  const BoardSeat seat = seat_in(next);
  return noted(reduce(seat, next));
}

absl::Status IpcPlane::allreduce(std::span<const Piece> pieces,
                                 const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check(reduction));
  return choose(
      pieces, reduction, call,
      [&](const BoardSeat& seat, const Call& next) {
        std::vector<Range> wanted;
        for (const Piece& piece : pieces) wanted.push_back({0, piece.count});
        IpcReducing reducing({seat, *window_, *all_}, pieces, wanted,
                             reduction);
        return seat.call({.tag = next.tag,
                          .kind = 'r',
                          .bytes = bytes_of(pieces, reduction)},
                         [&] { return reducing.run(next); });
      },
      [&](const Call& next) {
        return otherwise_.allreduce(pieces, reduction, next);
      });
}

absl::Status IpcPlane::reducescatter(std::span<const Piece> pieces,
                                     std::span<const std::int64_t> counts,
                                     const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check_scattered(reduction));
  HVD_RETURN_IF_ERROR(check_reducescatter(pieces, counts, ranks()));
  return choose(
      pieces, reduction, call,
      [&](const BoardSeat& seat, const Call& next) {
        std::vector<Range> wanted;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          const auto parts = counts.subspan(i * members_.size());
          Range part;
          for (int r = 0; r < rank_; ++r) {
            part.begin += parts[static_cast<std::size_t>(r)];
          }
          part.count = parts[static_cast<std::size_t>(rank_)];
          wanted.push_back(part);
        }
        IpcReducing reducing({seat, *window_, *all_}, pieces, wanted,
                             reduction);
        return seat.call({.tag = next.tag,
                          .kind = 's',
                          .bytes = bytes_of(pieces, reduction)},
                         [&] { return reducing.run(next); });
      },
      [&](const Call& next) {
        return otherwise_.reducescatter(pieces, counts, reduction, next);
      });
}

absl::Status IpcPlane::allgather(std::span<const std::byte> mine,
                                 std::span<const std::size_t> bytes_of_rank,
                                 std::byte* output, Call call) {
  return otherwise_.allgather(mine, bytes_of_rank, output, call);
}

absl::Status IpcPlane::broadcast(const std::byte* input, std::byte* output,
                                 std::size_t bytes, int root, Call call) {
  return otherwise_.broadcast(input, output, bytes, root, call);
}

absl::Status IpcPlane::alltoall(std::span<const std::byte> input,
                                std::span<const std::size_t> send_bytes,
                                std::byte* output,
                                std::span<const std::size_t> receive_bytes,
                                Call call) {
  return otherwise_.alltoall(input, send_bytes, output, receive_bytes, call);
}

absl::Status IpcPlane::barrier(Call call) { return otherwise_.barrier(call); }

}  // namespace hvd::collective
