// SPDX-License-Identifier: Apache-2.0
// Ranks as threads, each with a ChunkLink to the others. For tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "horovodpp/collective/ring/direct_circuit.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

// Runs body(seat, link) on each of `ranks` threads, with slots of 64 bytes.
using LinkedPart = std::function<void(const DirectSeat&, ChunkLink&)>;

inline void on_links(int ranks, const LinkedPart& body) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    Staging staging = direct_staging(ranks, 0, 64);
    ASSERT_TRUE(staging.map().ok());
    NeverInterrupt interrupt;
    ChunkLink link(communicator, staging, {{.epoch = 1}, interrupt},
                   test_waiting(ranks));
    body({.members = all, .position = communicator.rank()}, link);
    EXPECT_TRUE(link.flush().ok());
  });
}

}  // namespace hvd::collective
