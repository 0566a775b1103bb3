// SPDX-License-Identifier: Apache-2.0
// Ranks of a LoopbackWorld, each with a switchboard.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/transport/loopback.h"
#include "horovodpp/transport/subset_communicator.h"
#include "horovodpp/transport/switchboard.h"

namespace hvd::transport {

inline std::shared_ptr<Switchboard> board_over(
    std::unique_ptr<Communicator> communicator) {
  return std::make_shared<Switchboard>(
      std::shared_ptr<Communicator>(std::move(communicator)));
}

using Members = std::vector<int>;

inline std::unique_ptr<Communicator> subset(
    const std::shared_ptr<Switchboard>& board, const Members& members,
    std::uint32_t epoch) {
  auto made =
      make_subset_communicator(board, {.members = members, .epoch = epoch});
  EXPECT_EQ(made.status(), absl::OkStatus());
  return *std::move(made);
}

// A world and one board for each of its ranks, for as many epochs as wanted.
struct BoardedWorld {
  explicit BoardedWorld(int size) : world(size) {
    for (int rank = 0; rank < size; ++rank) {
      boards.push_back(board_over(world.communicator(rank)));
    }
  }
  const std::shared_ptr<Switchboard>& board(int rank) const {
    return boards[static_cast<std::size_t>(rank)];
  }
  LoopbackWorld world;
  std::vector<std::shared_ptr<Switchboard>> boards;
  std::uint32_t epoch = 1;
};

}  // namespace hvd::transport
