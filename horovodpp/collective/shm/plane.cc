// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/plane.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/arena/table.h"
#include "horovodpp/collective/shm/allgather.h"
#include "horovodpp/collective/shm/allreduce.h"
#include "horovodpp/collective/shm/alltoall.h"
#include "horovodpp/collective/shm/broadcast.h"
#include "horovodpp/collective/shm/quick_call.h"
#include "horovodpp/collective/shm/reducescatter.h"
#include "horovodpp/core/job/ranks.h"

namespace hvd::collective {
namespace {

ArenaMap* usable(ArenaMap* arenas, const ShmBoard& board) {
  const auto ranks = static_cast<std::size_t>(board.ranks());
  const bool fits = ArenaTable::fits(board.options().chunk_bytes, ranks);
  return fits ? arenas : nullptr;
}

absl::Status check_members(const ShmBoard& board,
                           const std::vector<int>& members) {
  if (are_ascending_ranks(members, board.ranks()) &&
      contains(members, board.rank())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a plane of local rank ", board.rank(), " of ", board.ranks(),
      " cannot have the members ", absl::StrJoin(members, ", "),
      "; give ascending local ranks, this one among them"));
}

std::size_t bytes_of(std::span<const Piece> pieces,
                     const ReduceKernel& kernel) {
  return static_cast<std::size_t>(total_count(pieces)) * kernel.element_bytes();
}

}  // namespace

ShmPlane::ShmPlane(ShmBoard& board, std::vector<int> members, ArenaMap* arenas)
    : HostPlane(position_in(members, board.rank()).value_or(0),
                static_cast<int>(members.size()),
                check_members(board, members)),
      board_(board),
      arenas_(usable(arenas, board)),
      members_(std::move(members)) {}

ShmPlane::ShmPlane(ShmBoard& board, ArenaMap* arenas)
    : ShmPlane(board, all_ranks(board.ranks()), arenas) {}

std::shared_ptr<std::byte> ShmPlane::result_memory(const ResultSize& size) {
  const bool is_reached = ranks() > 1 && arenas_ != nullptr &&
                          !arenas_->read_only() &&
                          size.all > board_.options().copied_bytes;
  return is_reached && size.mine > 0 ? arenas_->results().allocate(size.mine)
                                     : nullptr;
}

std::unique_ptr<QuickCall> ShmPlane::quick_allreduce(const Reduction& reduction,
                                                     std::size_t bytes) {
  const bool is_checked = check(reduction).ok() && reduces_by(reduction.op);
  if (!is_checked || bytes == 0 || ranks() == 1 || !is_made_at_once(bytes)) {
    return nullptr;
  }
  return std::make_unique<ShmQuickCall>(
      board_, members_, ReduceKernel(reduction, ranks()), bytes);
}

std::unique_ptr<QuickCall> ShmPlane::quick_barrier() {
  if (ranks() == 1) return nullptr;
  return std::make_unique<ShmQuickCall>(board_, members_, std::nullopt, 0);
}

bool ShmPlane::is_made_at_once(std::size_t bytes) const {
  const std::size_t small = board_.crossovers().small_bytes;
  return bytes <= small &&
         (arenas_ == nullptr || bytes <= board_.options().unlisted_bytes);
}

absl::Status ShmPlane::move(std::span<const Piece> pieces,
                            const ReduceKernel& kernel, const Call& call) {
  const std::size_t bytes = bytes_of(pieces, kernel);
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'r', .bytes = bytes}, [&] {
    if (is_made_at_once(bytes)) return allreduce_at_once(seat, pieces, kernel);
    return arenas_ != nullptr
               ? ArenaAllreduce(seat, *arenas_, kernel).run(pieces)
               : ChunkedAllreduce(seat, pieces, kernel).run();
  });
}

absl::Status ShmPlane::move(std::span<const Piece> pieces,
                            std::span<const std::int64_t> counts,
                            const ReduceKernel& kernel, const Call& call) {
  const std::size_t bytes = bytes_of(pieces, kernel);
  const ScatteredPieces scattered = {pieces, counts};
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 's', .bytes = bytes}, [&] {
    if (arenas_ != nullptr && bytes > board_.options().unlisted_bytes) {
      return reducescatter_in_arenas(seat, *arenas_, scattered, kernel);
    }
    return ChunkedReducescatter(seat, scattered, kernel).run();
  });
}

absl::Status ShmPlane::move(const Alltoall& exchange, const Call& call) {
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'a'},
                   [&] { return ShmAlltoall(seat, arenas_, exchange).run(); });
}

absl::StatusOr<bool> ShmPlane::move(const AlltoallAlike& exchange,
                                    const Call& call) {
  const BoardSeat seat = seat_in(call);
  bool is_done = false;
  HVD_RETURN_IF_ERROR(
      seat.call({.tag = call.tag, .kind = 'a'}, [&]() -> absl::Status {
        HVD_ASSIGN_OR_RETURN(is_done,
                             exchange_if_alike(seat, arenas_, exchange));
        return absl::OkStatus();
      }));
  return is_done;
}

absl::Status ShmPlane::move(const Allgather& gather, const Call& call) {
  const BoardSeat seat = seat_in(call);
  const std::uint64_t total =
      std::accumulate(gather.bytes_of_rank.begin(), gather.bytes_of_rank.end(),
                      std::uint64_t{0});
  return seat.call({.tag = call.tag, .kind = 'g', .bytes = total},
                   [&] { return ShmAllgather(seat, arenas_, gather).run(); });
}

absl::StatusOr<bool> ShmPlane::move(const AllgatherAlike& gather,
                                    const Call& call) {
  const BoardSeat seat = seat_in(call);
  bool is_done = false;
  HVD_RETURN_IF_ERROR(
      seat.call({.tag = call.tag, .kind = 'g'}, [&]() -> absl::Status {
        HVD_ASSIGN_OR_RETURN(is_done, gather_if_alike(seat, arenas_, gather));
        return absl::OkStatus();
      }));
  return is_done;
}

absl::Status ShmPlane::move(const Broadcast& broadcast, const Call& call) {
  const BoardSeat seat = seat_in(call);
  const ShmBoard::Label label = {
      .tag = call.tag, .kind = 'b', .bytes = broadcast.bytes};
  return seat.call(
      label, [&] { return ShmBroadcast(seat, arenas_, broadcast).run(); });
}

absl::Status ShmPlane::meet(const Call& call) {
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'y'}, [&] {
    return seat.step_through(
        1, [](std::uint64_t, std::byte*) {},
        [](std::uint64_t, std::uint64_t) {});
  });
}

}  // namespace hvd::collective
