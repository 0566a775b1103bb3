// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/plane.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/ipc/reducing.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

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
      windows_(means.windows),
      tell_(std::move(means.tell)),
      options_(options) {
  const bool fits = members_.size() <= device::kernels::kMostMembers &&
                    sizeof(IpcOffer) <= board_.options().chunk_bytes;
  if (!fits) connected_ = false;
}

// After a failure the stream may wait for a rank that is gone, and others may still
// write into the window: both are left to the process.
IpcPlane::~IpcPlane() {
  if (window_ == nullptr) return;
  if (failure_.ok()) {
    all_.reset();
    windows_.put_back(std::move(window_));
    return;
  }
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
  const BoardSeat seat = seat_in(call);
  return noted(seat.call({.tag = call.tag, .kind = 'y'},
                         [&] { return open_windows(seat, mine); }));
}

// In the first step all show their windows, in the second whether they reach all.
absl::Status IpcPlane::open_windows(const BoardSeat& seat, const Device& mine) {
  IpcOffer offer = {};
  auto window = windows_.take(gpus_, mine.index, options_.half_bytes);
  if (window.ok()) offer = (*window)->offer();
  std::memcpy(board_.mine(), &offer, sizeof(offer));
  const std::uint64_t first = board_.steps();
  board_.arrive();
  HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first, seat.interrupt));
  std::vector<IpcOffer> offers(members_.size());
  for (int r = 0; r < ranks(); ++r) {
    std::memcpy(&offers[static_cast<std::size_t>(r)], seat.slot(r, first),
                sizeof(IpcOffer));
  }
  absl::StatusOr<Neighbourhood> all =
      window.ok() ? Neighbourhood::open(**window, offers, rank_)
                  : absl::StatusOr<Neighbourhood>(window.status());
  *board_.mine() = all.ok() ? std::byte{1} : std::byte{0};
  board_.arrive();
  HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first + 1, seat.interrupt));
  connected_ = true;
  for (int r = 0; r < ranks(); ++r) {
    if (*seat.slot(r, first + 1) == std::byte{0}) connected_ = false;
  }
  tell_of(all.status());
  if (!*connected_) {
    if (window.ok()) windows_.put_back(*std::move(window));
    return absl::OkStatus();
  }
  window_ = *std::move(window);
  all_.emplace(*std::move(all));
  return absl::OkStatus();
}

void IpcPlane::tell_of(const absl::Status& mine) const {
  const std::string ranks_of_node = absl::StrJoin(members_, ", ");
  if (*connected_) {
    tell_(absl::StrCat("tensors on GPUs are reduced in memory that the ranks [",
                       ranks_of_node, "] of this node share"));
  } else {
    tell_(absl::StrCat(
        "tensors on GPUs go by way of the host between the ranks [",
        ranks_of_node, "] of this node: ",
        mine.ok() ? "another one cannot reach all windows" : mine.message()));
  }
}

absl::Status IpcPlane::reduce(char kind, std::span<const Piece> pieces,
                              std::span<const Range> wanted,
                              const Reduction& reduction, const Call& call) {
  HVD_RETURN_IF_ERROR(failure_);
  const BoardSeat seat = seat_in(call);
  IpcReducing reducing({seat, *window_, *all_}, pieces, wanted, reduction);
  return noted(seat.call(
      {.tag = call.tag, .kind = kind, .bytes = bytes_of(pieces, reduction)},
      [&] { return reducing.run(call); }));
}

absl::Status IpcPlane::allreduce(std::span<const Piece> pieces,
                                 const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check(reduction));
  if (!could_reduce(pieces, reduction)) {
    return otherwise_.allreduce(pieces, reduction, call);
  }
  std::vector<Range> whole;
  for (const Piece& piece : pieces) whole.push_back({0, piece.count});
  return reduce('r', pieces, whole, reduction, call);
}

absl::Status IpcPlane::reducescatter(std::span<const Piece> pieces,
                                     std::span<const std::int64_t> counts,
                                     const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check_scattered(reduction));
  HVD_RETURN_IF_ERROR(check_reducescatter(pieces, counts, ranks()));
  if (!could_reduce(pieces, reduction)) {
    return otherwise_.reducescatter(pieces, counts, reduction, call);
  }
  std::vector<Range> mine;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto parts = counts.subspan(i * members_.size(), members_.size());
    const auto rank = static_cast<std::ptrdiff_t>(rank_);
    mine.push_back(
        {std::accumulate(parts.begin(), parts.begin() + rank, std::int64_t{0}),
         parts[static_cast<std::size_t>(rank_)]});
  }
  return reduce('s', pieces, mine, reduction, call);
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
