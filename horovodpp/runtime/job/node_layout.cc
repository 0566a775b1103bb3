// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/node_layout.h"

#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/transport/node/liveness_locks.h"
#include "horovodpp/transport/node/mail.h"
#include "horovodpp/transport/node/segment.h"

namespace hvd::runtime {

NodeLayout::NodeLayout(int local_size, std::uint32_t cache_capacity)
    : board_{.bytes = coordinator::SharedBoard::bytes_needed(cache_capacity)},
      mail_(board_.followed_by(transport::NodeMail::bytes_needed(local_size))),
      messages_(mail_.followed_by(transport::NodeMail::bytes_needed(
          local_size, transport::NodeMail::Pairs::kAll))),
      early_leave_(messages_.followed_by(sizeof(transport::FailureRecord))),
      lives_(early_leave_.followed_by(
          transport::LivenessLocks::bytes_needed(local_size))),
      arenas_(
          lives_.followed_by(collective::ArenaMap::bytes_needed(local_size))),
      plane_(
          arenas_.followed_by(collective::ShmBoard::bytes_needed(local_size))) {
}

NodeLayout::Part NodeLayout::Part::followed_by(std::size_t next_bytes) const {
  constexpr std::size_t kPage = 4096;
  const std::size_t end = offset + bytes;
  return {.offset = (end + kPage - 1) / kPage * kPage, .bytes = next_bytes};
}

}  // namespace hvd::runtime
