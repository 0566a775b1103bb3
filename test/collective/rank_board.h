// SPDX-License-Identifier: Apache-2.0
// The board of one rank, in a segment that the ranks of its node open. For
// tests.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/collective/board/board.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/node/segment.h"
#include "test/collective/interrupts.h"

namespace hvd::collective {

class RankBoard {
 public:
  // The number of bytes of the segment before the board.
  using Before = std::size_t (*)(int ranks);
  static std::size_t nothing(int) { return 0; }

  RankBoard(transport::Communicator& communicator, const ShmOptions& options,
            Before room = nothing,
            std::optional<transport::WaitPolicy> waiting = std::nullopt)
      : RankBoard(
            communicator,
            Topology::from_peers(communicator.rank(), communicator.peers())
                .value(),
            options, room, waiting) {}
  RankBoard(transport::Communicator& communicator, const Topology& topology,
            const ShmOptions& options, Before room = nothing,
            std::optional<transport::WaitPolicy> waiting = std::nullopt)
      : topology_(topology),
        before_(room(ranks())),
        segment_(transport::NodeSegment::open(
                     communicator, topology_,
                     before_ + ShmBoard::bytes_needed(ranks(), options), soon())
                     .value()),
        board_(*segment_, segment_->payload().subspan(before_),
               waiting.value_or(test_waiting(communicator.size())), options) {}

  const Topology& topology() const { return topology_; }
  int rank() const { return topology_.local_rank(); }
  int ranks() const { return topology_.local_size(); }
  transport::NodeSegment& segment() const { return *segment_; }
  std::span<std::byte> before() const {
    return segment_->payload().first(before_);
  }
  ShmBoard& board() { return board_; }

 private:
  const Topology topology_;
  const std::size_t before_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  ShmBoard board_;
};

}  // namespace hvd::collective
