// SPDX-License-Identifier: Apache-2.0
// Ranks of a LoopbackWorld, each with a router.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/transport/epoch_router.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "horovodpp/transport/subset_communicator.h"

namespace hvd::transport {

inline std::shared_ptr<EpochRouter> router_over(
    std::unique_ptr<Communicator> communicator) {
  return std::make_shared<EpochRouter>(
      std::shared_ptr<Communicator>(std::move(communicator)));
}

using Members = std::vector<int>;

inline std::unique_ptr<Communicator> subset(
    const std::shared_ptr<EpochRouter>& router, const Members& members,
    std::uint32_t epoch) {
  auto made =
      make_subset_communicator(router, {.members = members, .epoch = epoch});
  EXPECT_EQ(made.status(), absl::OkStatus());
  return *std::move(made);
}

// A world and one router per rank, for any number of epochs.
struct RoutedWorld {
  explicit RoutedWorld(int size) : world(size) {
    for (int rank = 0; rank < size; ++rank) {
      routers.push_back(router_over(world.communicator(rank)));
    }
  }
  const std::shared_ptr<EpochRouter>& router(int rank) const {
    return routers[static_cast<std::size_t>(rank)];
  }
  LoopbackWorld world;
  std::vector<std::shared_ptr<EpochRouter>> routers;
  std::uint32_t epoch = 1;
};

}  // namespace hvd::transport
