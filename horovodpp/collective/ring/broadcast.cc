// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/broadcast.h"

#include <algorithm>
#include <cstring>

#include "horovodpp/core/status.h"

namespace hvd::collective {
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

}  // namespace hvd::collective
