// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/dissemination.h"

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

}  // namespace hvd::collective
