// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/call_checks.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

namespace {

absl::Status check_number(const char* what, std::size_t sizes,
                          std::size_t needed) {
  if (sizes == needed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " needs ", needed, " sizes and was given ", sizes));
}

}  // namespace

absl::Status check_reducescatter(std::span<const Piece> pieces,
                                 std::span<const std::int64_t> counts,
                                 int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  HVD_RETURN_IF_ERROR(check_number("a reducescatter, for each piece and rank,",
                                   counts.size(), pieces.size() * parts));
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    std::int64_t left = pieces[p].count;
    for (const std::int64_t count : counts.subspan(p * parts, parts)) {
      if (count < 0 || count > left) {
        left = -1;
        break;
      }
      left -= count;
    }
    if (left == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("reducescatter: the ranks' parts of piece ", p,
                     " do not add up to its ", pieces[p].count, " elements"));
  }
  return absl::OkStatus();
}

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
        "allgather: rank ", rank, " contributes ", mine_bytes,
        " bytes but is listed with ", expected, "; list what it contributes"));
  }
  return absl::OkStatus();
}

absl::Status check_alltoall(std::size_t input_bytes,
                            std::span<const std::size_t> send_bytes,
                            std::span<const std::size_t> receive_bytes,
                            int rank, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  HVD_RETURN_IF_ERROR(
      check_number("an alltoall, to send,", send_bytes.size(), parts));
  HVD_RETURN_IF_ERROR(
      check_number("an alltoall, to receive,", receive_bytes.size(), parts));
  std::size_t left = input_bytes;
  for (const std::size_t bytes : send_bytes) {
    if (bytes > left) {
      return absl::InvalidArgumentError(
          absl::StrCat("alltoall: the sizes add up to more than the input's ",
                       input_bytes, " bytes"));
    }
    left -= bytes;
  }
  if (left > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "alltoall: the input's last ", left,
        " bytes go to no rank; the sizes must add up to the input's"));
  }
  const auto self = static_cast<std::size_t>(rank);
  if (send_bytes[self] == receive_bytes[self]) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("alltoall: rank ", rank, " sends itself ", send_bytes[self],
                   " bytes and expects ", receive_bytes[self]));
}

absl::Status check_broadcast(int root, int ranks) {
  if (root >= 0 && root < ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "broadcast from rank ", root, ", but the ranks are 0 to ", ranks - 1));
}

absl::Status cannot_be_captured(const std::string& why) {
  return absl::UnimplementedError(
      absl::StrCat("it cannot be captured into a graph: ", why));
}

}  // namespace hvd::collective
