// SPDX-License-Identifier: Apache-2.0
// The board of one rank, in a segment that the ranks of its node open. For
// tests.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "horovodpp/collective/board/board.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/node/segment.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

class RankBoard {
 public:
  // `before` bytes of the segment lie before the board, for something else.
  RankBoard(transport::Communicator& communicator, const ShmOptions& options,
            std::size_t before = 0)
      : RankBoard(
            communicator,
            Topology::from_peers(communicator.rank(), communicator.peers())
                .value(),
            options, before) {}
  RankBoard(transport::Communicator& communicator, const Topology& topology,
            const ShmOptions& options, std::size_t before = 0)
      : topology_(topology),
        segment_(transport::NodeSegment::open(
                     communicator, topology_,
                     before + ShmBoard::bytes_needed(ranks(), options), soon())
                     .value()),
        before_(segment_->payload().first(before)),
        board_(*segment_, segment_->payload().subspan(before),
               test_waiting(communicator.size()), options) {}

  const Topology& topology() const { return topology_; }
  int rank() const { return topology_.local_rank(); }
  int ranks() const { return topology_.local_size(); }
  std::span<std::byte> before() const { return before_; }
  ShmBoard& board() { return board_; }
  transport::NodeSegment& segment() const { return *segment_; }

 private:
  const Topology topology_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  const std::span<std::byte> before_;
  ShmBoard board_;
};

}  // namespace hvd::collective
