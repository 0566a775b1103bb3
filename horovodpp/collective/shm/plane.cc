#include "horovodpp/collective/shm/plane.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/shm/plane_steps.h"

namespace hvd::collective {
namespace {

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int position_of(int rank, const std::vector<int>& members) {
  const auto place = std::lower_bound(members.begin(), members.end(), rank);
  return static_cast<int>(place - members.begin());
}

ArenaMap* usable(ArenaMap* arenas, const ShmBoard& board) {
  const auto ranks = static_cast<std::size_t>(board.ranks());
  const bool fits = ArenaTable::fits(board.options().chunk_bytes, ranks);
  return fits ? arenas : nullptr;
}

absl::Status check_members(const ShmBoard& board,
                           const std::vector<int>& members) {
  const bool ascending =
      std::adjacent_find(members.begin(), members.end(),
                         std::greater_equal<>()) == members.end();
  if (ascending && !members.empty() && members.front() >= 0 &&
      members.back() < board.ranks() &&
      std::binary_search(members.begin(), members.end(), board.rank())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a plane of local rank ", board.rank(), " of ", board.ranks(),
      " cannot have the members ", absl::StrJoin(members, ", "),
      "; give ascending local ranks, this one among them"));
}

}  // namespace

ShmPlane::ShmPlane(ShmBoard& board, std::vector<int> members, ArenaMap* arenas)
    : HostPlane(position_of(board.rank(), members),
                static_cast<int>(members.size()),
                check_members(board, members)),
      board_(board),
      arenas_(usable(arenas, board)),
      members_(std::move(members)),
      inputs_(members_.size()) {}

ShmPlane::ShmPlane(ShmBoard& board, ArenaMap* arenas)
    : ShmPlane(board, all_ranks(board.ranks()), arenas) {}

absl::Status ShmPlane::move(const Gather& gather, const Call& call) {
  const std::size_t most = *std::max_element(gather.bytes_of_rank.begin(),
                                             gather.bytes_of_rank.end());
  const auto length_at = [&](std::size_t bytes, std::uint64_t i) {
    return std::min(chunk(), bytes - std::min(bytes, i * chunk()));
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    const std::size_t length = length_at(gather.mine.size(), i);
    if (length == 0) return;
    writer_.begin_step();
    writer_.copy(slot, gather.mine.data() + i * chunk(), length);
    writer_.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    std::byte* to = gather.output;
    for (int peer = 0; peer < ranks(); ++peer) {
      const std::size_t bytes =
          gather.bytes_of_rank[static_cast<std::size_t>(peer)];
      const std::size_t length = length_at(bytes, i);
      if (length > 0) std::memcpy(to + i * chunk(), slot(peer, step), length);
      to += bytes;
    }
    return absl::OkStatus();
  };
  const std::uint64_t total =
      std::accumulate(gather.bytes_of_rank.begin(), gather.bytes_of_rank.end(),
                      std::uint64_t{0});
  return on_board({.tag = call.tag, .kind = 'g', .bytes = total}, [&] {
    return step_through(steps_for(most, chunk()), call, fill, drain);
  });
}

absl::Status ShmPlane::move(const Broadcast& broadcast, const Call& call) {
  const bool sends = rank() == broadcast.root;
  const auto length_at = [&](std::uint64_t i) {
    return std::min(chunk(), broadcast.bytes - i * chunk());
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    if (!sends) return;
    writer_.begin_step();
    writer_.copy(slot, broadcast.input + i * chunk(), length_at(i));
    writer_.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    if (sends) return absl::OkStatus();
    std::memcpy(broadcast.output + i * chunk(), slot(broadcast.root, step),
                length_at(i));
    return absl::OkStatus();
  };
  const ShmBoard::Label label = {
      .tag = call.tag, .kind = 'b', .bytes = broadcast.bytes};
  return on_board(label, [&] {
    return step_through(steps_for(broadcast.bytes, chunk()), call, fill, drain);
  });
}

absl::Status ShmPlane::meet(const Call& call) {
  return on_board({.tag = call.tag, .kind = 'y'}, [&] {
    return step_through(
        1, call, [](std::uint64_t, std::byte*) {},
        [](std::uint64_t, std::uint64_t) { return absl::OkStatus(); });
  });
}

}  // namespace hvd::collective
