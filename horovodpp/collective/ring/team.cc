// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/team.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status disseminate(const RingTeam& team, ChunkLink& link) {
  for (int distance = 1; distance < team.ranks(); distance *= 2) {
    HVD_RETURN_IF_ERROR(
        link.post_receive(team.member(team.ranks() - distance), 1));
    HVD_ASSIGN_OR_RETURN(std::byte * token, link.take());
    *token = std::byte{1};
    HVD_RETURN_IF_ERROR(link.send(team.member(distance), token, 1));
    HVD_ASSIGN_OR_RETURN(std::byte * answer, link.receive());
    link.release(answer);
  }
  return absl::OkStatus();
}

namespace {

// Counted from the root, a rank's parent is the rank without its lowest bit,
// and its children are the ranks with one lower bit more.
absl::Status broadcast_by_tree(const RingTeam& team, const Broadcast& broadcast,
                               ChunkLink& link) {
  const auto& [input, output, bytes, root] = broadcast;
  const int place = (team.rank + team.ranks() - root) % team.ranks();
  int bit = 1;
  while (bit < team.ranks() && (place & bit) == 0) bit *= 2;
  if (place != 0) {
    HVD_RETURN_IF_ERROR(
        link.post_receive(team.member(team.ranks() - bit), bytes));
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
    std::memcpy(output, slot, bytes);
    link.release(slot);
  }
  const std::byte* data = place == 0 ? input : output;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit >= team.ranks()) continue;
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
    std::memcpy(slot, data, bytes);
    HVD_RETURN_IF_ERROR(link.send(team.member(bit), slot, bytes));
  }
  return absl::OkStatus();
}

absl::Status broadcast_by_chain(const RingTeam& team,
                                const Broadcast& broadcast, ChunkLink& link) {
  const auto& [input, output, bytes, root] = broadcast;
  const int place = (team.rank + team.ranks() - root) % team.ranks();
  const std::size_t window =
      static_cast<std::size_t>(link.depth()) * link.slot_bytes();
  std::size_t posted = 0;
  for (std::size_t at = 0; at < bytes; at += link.slot_bytes()) {
    for (; place != 0 && posted < std::min(bytes, at + window);
         posted += link.slot_bytes()) {
      const std::size_t length = std::min(link.slot_bytes(), bytes - posted);
      HVD_RETURN_IF_ERROR(
          link.post_receive(team.member(team.ranks() - 1), length));
    }
    const std::size_t length = std::min(link.slot_bytes(), bytes - at);
    HVD_ASSIGN_OR_RETURN(std::byte * slot,
                         place == 0 ? link.take() : link.receive());
    if (place == 0) {
      std::memcpy(slot, input + at, length);
    } else {
      std::memcpy(output + at, slot, length);
    }
    if (place + 1 < team.ranks()) {
      HVD_RETURN_IF_ERROR(link.send(team.member(1), slot, length));
    } else {
      link.release(slot);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status broadcast_on(const RingTeam& team, const Broadcast& broadcast,
                          ChunkLink& link) {
  return broadcast.bytes <= link.slot_bytes()
             ? broadcast_by_tree(team, broadcast, link)
             : broadcast_by_chain(team, broadcast, link);
}

namespace {

// One rank's data for another, in chunks of at most a slot. The first chunk
// begins with the total size. It is always sent, because it shows the receiver
// a disagreement.
class Parcel {
 public:
  Parcel(std::size_t bytes, std::size_t slot_bytes)
      : bytes_(bytes), slot_bytes_(slot_bytes) {}

  std::size_t chunks() const {
    return (kHeader + bytes_ + slot_bytes_ - 1) / slot_bytes_;
  }
  // The length of chunk `i` as it is sent.
  std::size_t length(std::size_t i) const {
    return std::min(slot_bytes_, kHeader + bytes_ - i * slot_bytes_);
  }

  void pack(std::size_t i, const std::byte* from, std::byte* slot) const {
    if (i == 0) std::memcpy(slot, &bytes_, kHeader);
    copy(slot + front(i), from + begin(i), length(i) - front(i));
  }

  absl::Status unpack(std::size_t i, const std::byte* slot,
                      std::byte* to) const {
    if (i == 0) {
      std::uint64_t sent = 0;
      std::memcpy(&sent, slot, kHeader);
      if (sent != bytes_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "it sends ", sent, " bytes and ", bytes_, " are expected"));
      }
    }
    copy(to + begin(i), slot + front(i), length(i) - front(i));
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kHeader = sizeof(std::uint64_t);

  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  static std::size_t front(std::size_t i) { return i == 0 ? kHeader : 0; }
  std::size_t begin(std::size_t i) const {
    return i == 0 ? 0 : i * slot_bytes_ - kHeader;
  }

  const std::uint64_t bytes_;
  const std::size_t slot_bytes_;
};

std::size_t sum(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

// All ranks go through the distances, and through the chunks of a distance, in
// the same order, and at each place send before they receive. This avoids a
// deadlock: take the earliest place at which a rank is stuck. It is not stuck
// in a send, which only waits for an earlier send, whose receiver has already
// posted the receive. Nor is it stuck in a receive, because the sender is past
// its send.
absl::Status shift(const RingTeam& team, int distance,
                   std::span<const std::byte> out, std::span<std::byte> in,
                   ChunkLink& link) {
  const Parcel sent(out.size(), link.slot_bytes());
  const Parcel received(in.size(), link.slot_bytes());
  const std::size_t window = static_cast<std::size_t>(link.depth());
  std::size_t posted = 0;
  const std::size_t chunks = std::max(sent.chunks(), received.chunks());
  for (std::size_t i = 0; i < chunks; ++i) {
    for (; posted < std::min(received.chunks(), i + window); ++posted) {
      HVD_RETURN_IF_ERROR(link.post_receive(
          team.member(team.ranks() - distance), received.length(posted)));
    }
    if (i < sent.chunks()) {
      HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
      sent.pack(i, out.data(), slot);
      HVD_RETURN_IF_ERROR(
          link.send(team.member(distance), slot, sent.length(i)));
    }
    if (i < received.chunks()) {
      HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
      HVD_RETURN_IF_ERROR(received.unpack(i, slot, in.data()));
      link.release(slot);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status alltoall_on(const RingTeam& team, const Alltoall& exchange,
                         ChunkLink& link) {
  const auto to_rank = [&](int r) {
    const auto place = static_cast<std::size_t>(r);
    return exchange.input.subspan(sum(exchange.send_bytes.first(place)),
                                  exchange.send_bytes[place]);
  };
  const auto from_rank = [&](int r) {
    const auto place = static_cast<std::size_t>(r);
    return std::span(exchange.output + sum(exchange.receive_bytes.first(place)),
                     exchange.receive_bytes[place]);
  };
  const auto own = to_rank(team.rank);
  if (!own.empty()) {
    std::memcpy(from_rank(team.rank).data(), own.data(), own.size());
  }
  for (int distance = 1; distance < team.ranks(); ++distance) {
    const int to = (team.rank + distance) % team.ranks();
    const int from = (team.rank + team.ranks() - distance) % team.ranks();
    HVD_RETURN_IF_ERROR(
        annotate(shift(team, distance, to_rank(to), from_rank(from), link),
                 absl::StrCat("alltoall between ranks ", from, ", ", team.rank,
                              " and ", to)));
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
