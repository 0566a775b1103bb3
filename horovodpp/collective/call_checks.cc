// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/call_checks.h"

#include <cstddef>
#include <cstdint>
#include <span>

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

// Checks the parts that the ranks send and receive.
absl::Status check_sizes(std::size_t input_bytes,
                         std::span<const std::size_t> send_bytes,
                         std::span<const std::size_t> receive_bytes, int rank,
                         int ranks) {
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

}  // namespace

absl::Status check(const Allreduce& what, int, int) {
  return check(what.reduction);
}

absl::Status check(const Barrier&, int, int) { return absl::OkStatus(); }

absl::Status check(const Reducescatter& what, int, int ranks) {
  HVD_RETURN_IF_ERROR(check_scattered(what.reduction));
  const auto& [pieces, counts, reduction] = what;
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

absl::Status check(const Allgather& what, int rank, int ranks) {
  const auto& bytes_of_rank = what.bytes_of_rank;
  if (bytes_of_rank.size() != static_cast<std::size_t>(ranks)) {
    return absl::InvalidArgumentError(
        absl::StrCat("allgather between ", ranks, " ranks was given ",
                     bytes_of_rank.size(), " sizes; give one for each rank"));
  }
  const std::size_t expected = bytes_of_rank[static_cast<std::size_t>(rank)];
  if (what.mine.size() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("allgather: rank ", rank, " contributes ",
                     what.mine.size(), " bytes but is listed with ", expected,
                     "; list the number that it sends"));
  }
  return absl::OkStatus();
}

absl::Status check(const AllgatherAlike& what, int, int ranks) {
  if (what.bytes_of_rank.size() == static_cast<std::size_t>(ranks)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("allgather: there is room for the sizes of ",
                   what.bytes_of_rank.size(), " ranks, and there are ", ranks));
}

absl::Status check(const Alltoall& what, int rank, int ranks) {
  return check_sizes(what.input.size(), what.send_bytes, what.receive_bytes,
                     rank, ranks);
}

absl::Status check(const AlltoallAlike& what, int rank, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  if (what.sizes.size() != parts * parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("alltoall: there is room for ", what.sizes.size(),
                     " sizes, and there are ", parts * parts));
  }
  const auto sent =
      what.sizes.subspan(static_cast<std::size_t>(rank) * parts, parts);
  return check_sizes(what.input.size(), sent, sent, rank, ranks);
}

absl::Status check(const Broadcast& what, int, int ranks) {
  if (what.root >= 0 && what.root < ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("broadcast from rank ", what.root,
                   ", but the ranks are 0 to ", ranks - 1));
}

absl::Status cannot_be_captured(const std::string& why) {
  return absl::UnimplementedError(
      absl::StrCat("it cannot be captured into a graph: ", why));
}

}  // namespace hvd::collective
