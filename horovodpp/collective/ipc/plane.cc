// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/plane.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/ipc/reducing.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::collective {

IpcPlane::IpcPlane(Means means, const Options& options)
    : gpus_(means.gpus),
      board_(means.board),
      ranks_text_(absl::StrCat("ranks [",
                               absl::StrJoin(means.ranks_of_job, ", "),
                               "] of this node")),
      members_(std::move(means.members)),
      rank_(position_in(members_, board_.rank()).value_or(0)),
      fits_(members_.size() <= device::kernels::kMostMembers &&
            sizeof(IpcWindowInfo) <= board_.options().chunk_bytes),
      otherwise_(means.otherwise),
      windows_(means.windows),
      timeouts_(std::move(means.timeouts)),
      report_(std::move(means.report)),
      options_(options) {}

// After a failure another rank's thread may still use the stream, or the stream
// may wait for one of the program's. Other ranks may write into the window. So
// stream and window stay allocated until the process ends.
IpcPlane::~IpcPlane() {
  if (window_ == nullptr) return;
  if (failure_.ok()) {
    release_window();
    return;
  }
  static Mutex mutex;
  static auto* const left = new std::vector<
      std::pair<std::shared_ptr<IpcWindow>, std::optional<PeerWindows>>>;
  const MutexLock lock(mutex);
  left->emplace_back(std::move(window_), std::move(all_));
}

void IpcPlane::release_window() {
  all_.reset();
  window_.reset();
}

absl::Status IpcPlane::noted(const absl::Status& outcome) {
  if (absl::IsCancelled(outcome)) return outcome;
  failure_ = outcome;
  if (!outcome.ok() && window_ != nullptr) {
    const device::CudaStream* const streams[] = {&window_->stream()};
    GpuWait::drain_after_failure(streams);
  }
  return outcome;
}

bool IpcPlane::could_reduce(std::span<const Piece> pieces,
                            const Reduction& reduction) const {
  const bool scaled = describe(reduction.op).divides ||
                      reduction.prescale != 1.0 || reduction.postscale != 1.0;
  return connected_.value_or(false) && total_count(pieces) > 0 &&
         device::CudaKernels::reduces(
             {.dtype = reduction.dtype, .op = reduction.op, .scaled = scaled});
}

BoardSeat IpcPlane::seat_in(const Call& call) {
  return {.board = board_,
          .members = members_,
          .rank = rank_,
          .writer = writer_,
          .interrupt = call.interrupt};
}

absl::Status IpcPlane::introduce(const Device& mine, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  const absl::Status status = noted_of([&]() -> absl::Status {
    HVD_ASSIGN_OR_RETURN(connected_, connect(mine, call));
    return absl::OkStatus();
  });
  // A call that was given up has opened nothing.
  if (!connected_.value_or(false) && failure_.ok()) release_window();
  return status;
}

absl::StatusOr<bool> IpcPlane::connect(const Device& mine, const Call& call) {
  const BoardSeat seat = seat_in(call);
  bool connected = false;
  const auto open = [&]() -> absl::Status {
    HVD_RETURN_IF_ERROR(show_window(seat, mine));
    HVD_ASSIGN_OR_RETURN(connected, do_all_ranks_reach(seat));
    return absl::OkStatus();
  };
  HVD_RETURN_IF_ERROR(seat.call({.tag = call.tag, .kind = 'y'}, open));
  if (connected) {
    report_(absl::StrCat("tensors on GPUs are reduced in memory that ",
                         ranks_text_, " share"));
  } else {
    report_(absl::StrCat("tensors on GPUs go by way of the host between ",
                         ranks_text_, ": ",
                         obstacle_.ok() ? "another one cannot reach all windows"
                                        : obstacle_.message()));
  }
  return connected;
}

// The first step of the call: all ranks show their windows.
absl::Status IpcPlane::show_window(const BoardSeat& seat, const Device& mine) {
  IpcWindowInfo info = {};
  absl::StatusOr<std::shared_ptr<IpcWindow>> window =
      fits_ ? windows_.on(gpus_, mine.index, options_.half_bytes)
            : absl::FailedPreconditionError(absl::StrCat(
                  "there are more than ", device::kernels::kMostMembers,
                  " of them, or the memory of the node is too small"));
  obstacle_ = window.status();
  if (window.ok()) {
    window_ = *std::move(window);
    info = window_->info();
  }
  if (fits_) std::memcpy(board_.mine(), &info, sizeof(info));
  const std::uint64_t step = board_.steps();
  HVD_RETURN_IF_ERROR(seat.meet());
  if (!obstacle_.ok()) return absl::OkStatus();
  std::vector<IpcWindowInfo> infos(members_.size());
  for (int m = 0; m < seat.ranks(); ++m) {
    std::memcpy(&infos[static_cast<std::size_t>(m)], seat.slot(m, step),
                sizeof(IpcWindowInfo));
  }
  auto all = PeerWindows::open(*window_, infos, rank_);
  obstacle_ = all.status();
  if (all.ok()) all_.emplace(*std::move(all));
  return absl::OkStatus();
}

// The second step: the ranks announce whether they reach all windows.
absl::StatusOr<bool> IpcPlane::do_all_ranks_reach(const BoardSeat& seat) {
  *board_.mine() = obstacle_.ok() ? std::byte{1} : std::byte{0};
  const std::uint64_t step = board_.steps();
  HVD_RETURN_IF_ERROR(seat.meet());
  for (int m = 0; m < seat.ranks(); ++m) {
    if (*seat.slot(m, step) == std::byte{0}) return false;
  }
  return true;
}

absl::Status IpcPlane::reduce(const Task& task, const Call& call) {
  const BoardSeat seat = seat_in(call);
  GpuWait wait(timeouts_, call, "a reduction by CUDA IPC",
               GpuWait::For::kOtherRanks);
  IpcReducing reducing({seat, *window_, *all_, wait, call}, task.pieces,
                       task.wanted, task.reduction);
  const auto count = static_cast<std::uint64_t>(total_count(task.pieces));
  return seat.call({.tag = call.tag,
                    .kind = task.kind,
                    .bytes = count * size_of(task.reduction.dtype)},
                   [&] { return reducing.run(); });
}

absl::Status IpcPlane::serve(const Allreduce& what, const Call& call) {
  const auto pieces = what.pieces;
  const Reduction& reduction = what.reduction;
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check(what, rank_, ranks()));
  if (!could_reduce(pieces, reduction)) return otherwise_.execute(what, call);
  std::vector<Range> whole;
  for (const Piece& piece : pieces) whole.push_back({0, piece.count});
  return noted_of([&] {
    return reduce({.kind = 'r',
                   .pieces = pieces,
                   .wanted = whole,
                   .reduction = reduction},
                  call);
  });
}

absl::Status IpcPlane::serve(const Reducescatter& what, const Call& call) {
  const auto pieces = what.pieces;
  const Reduction& reduction = what.reduction;
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check(what, rank_, ranks()));
  if (!could_reduce(pieces, reduction)) return otherwise_.execute(what, call);
  std::vector<Range> mine;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto parts = what.parts(i);
    mine.push_back(
        {std::accumulate(parts.begin(), parts.begin() + rank_, std::int64_t{0}),
         parts[static_cast<std::size_t>(rank_)]});
  }
  return noted_of([&] {
    return reduce(
        {.kind = 's', .pieces = pieces, .wanted = mine, .reduction = reduction},
        call);
  });
}

}  // namespace hvd::collective
