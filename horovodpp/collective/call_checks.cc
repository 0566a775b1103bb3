#include "horovodpp/collective/call_checks.h"

#include "absl/strings/str_cat.h"

namespace hvd::collective {

absl::Status check_allgather(std::size_t mine_bytes,
                             std::span<const std::size_t> bytes_of_rank,
                             int rank, int ranks) {
  if (bytes_of_rank.size() != static_cast<std::size_t>(ranks)) {
    return absl::InvalidArgumentError(
        absl::StrCat("allgather between ", ranks, " ranks was given ",
                     bytes_of_rank.size(), " sizes; give one for each rank"));
  }
  const std::size_t expected = bytes_of_rank[static_cast<std::size_t>(rank)];
  if (mine_bytes != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "allgather: rank ", rank, " brings ", mine_bytes,
        " bytes but is listed with ", expected, "; list what it brings"));
  }
  return absl::OkStatus();
}

absl::Status check_broadcast(int root, int ranks) {
  if (root >= 0 && root < ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "broadcast from rank ", root, ", but the ranks are 0 to ", ranks - 1));
}

}  // namespace hvd::collective
