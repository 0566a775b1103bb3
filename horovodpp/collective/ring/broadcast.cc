// The RingPlane's broadcast.
#include <algorithm>
#include <cstring>

#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status RingPlane::move(const Broadcast& broadcast, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    return broadcast.bytes <= ring_.slot_bytes
               ? broadcast_by_tree(broadcast, link)
               : broadcast_by_chain(broadcast, link);
  });
}

// Counted from the root, a rank's parent is the rank without its lowest bit,
// and its children are the ranks with one lower bit more.
absl::Status RingPlane::broadcast_by_tree(const Broadcast& broadcast,
                                          ChunkLink& link) {
  const auto& [input, output, bytes, root] = broadcast;
  const int place = (rank() + ranks() - root) % ranks();
  int bit = 1;
  while (bit < ranks() && (place & bit) == 0) bit *= 2;
  if (place != 0) {
    HVD_RETURN_IF_ERROR(link.post_receive(member(ranks() - bit), bytes));
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
    std::memcpy(output, slot, bytes);
    link.release(slot);
  }
  const std::byte* data = place == 0 ? input : output;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit >= ranks()) continue;
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
    std::memcpy(slot, data, bytes);
    HVD_RETURN_IF_ERROR(link.send(member(bit), slot, bytes));
  }
  return absl::OkStatus();
}

absl::Status RingPlane::broadcast_by_chain(const Broadcast& broadcast,
                                           ChunkLink& link) {
  const auto& [input, output, bytes, root] = broadcast;
  const int place = (rank() + ranks() - root) % ranks();
  const std::size_t window =
      static_cast<std::size_t>(ring_.depth) * ring_.slot_bytes;
  std::size_t posted = 0;
  for (std::size_t at = 0; at < bytes; at += ring_.slot_bytes) {
    for (; place != 0 && posted < std::min(bytes, at + window);
         posted += ring_.slot_bytes) {
      const std::size_t length = std::min(ring_.slot_bytes, bytes - posted);
      HVD_RETURN_IF_ERROR(link.post_receive(member(ranks() - 1), length));
    }
    const std::size_t length = std::min(ring_.slot_bytes, bytes - at);
    HVD_ASSIGN_OR_RETURN(std::byte * slot,
                         place == 0 ? link.take() : link.receive());
    if (place == 0) {
      std::memcpy(slot, input + at, length);
    } else {
      std::memcpy(output + at, slot, length);
    }
    if (place + 1 < ranks()) {
      HVD_RETURN_IF_ERROR(link.send(member(1), slot, length));
    } else {
      link.release(slot);
    }
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
