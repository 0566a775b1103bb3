// SPDX-License-Identifier: Apache-2.0
// Fleets create a plane on each of several ranks and run a test's body there.
// For tests.
//
// A Fleet's run(body) calls body(Member&) for every rank in this process, each
// on its own thread. A fleet with several sizes runs each size in turn.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/collective/interrupts.h"
#include "test/collective/placement.h"
#include "test/collective/rank_board.h"
#include "test/support/rank_thread.h"

namespace hvd::collective {

// Makes a plane between `members`, which include this rank, next to existing
// planes.
using PlaneMaker =
    std::function<std::unique_ptr<DataPlane>(std::vector<int> members)>;

struct Member {
  DataPlane& plane;
  int rank;
  int ranks;
  int ranks_here;  // Ranks in this process.
  transport::Interrupt& interrupt;
  PlaneMaker plane_between = {};
  std::uint32_t epoch = 1;
  std::uint32_t sequence = 0xfffffff0;  // Wraps around during a test.
  bool certain = false;                 // Copied to each call.
  // Not 0 for planes that divide before they sum, in an order of their own:
  // results are rounded as if they were at least this large.
  double rounds_like = 0;

  Call next() {
    return {{.epoch = epoch, .sequence = sequence++}, interrupt, certain};
  }
};

using Body = std::function<void(Member&)>;

inline void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 1; i < count; ++i) {
    threads.emplace_back([&body, i] {
      name_thread_of_rank(i);
      body(i);
    });
  }
  body(0);
  for (std::thread& thread : threads) thread.join();
}

// Small chunks, so that small tensors have many.
inline constexpr RingOptions kSmallRing = {.chunk_bytes = 256, .depth = 2};
inline constexpr ShmOptions kSmallShm = {.chunk_bytes = 512,
                                         .small_bytes = 128,
                                         .cached_bytes = 3000,
                                         .broadcast_step_bytes = 256};

// Runs `body` with a RingPlane, or one derived from it, over `communicator`.
template <typename Plane = RingPlane>
void run_on_ring(transport::Communicator& communicator, int ranks_here,
                 const Body& body) {
  const auto waiting = test_waiting(communicator.size());
  Plane plane(communicator, waiting, kSmallRing);
  NeverInterrupt interrupt;
  Member member = {plane,
                   communicator.rank(),
                   communicator.size(),
                   ranks_here,
                   interrupt,
                   [&](std::vector<int> members) {
                     return std::make_unique<Plane>(
                         communicator, std::move(members), waiting, kSmallRing);
                   }};
  body(member);
}

// Runs `body` with a ShmPlane. `arenas` may be nullptr.
inline void run_on_board(RankBoard& rank, ArenaMap* arenas, int ranks_here,
                         const Body& body) {
  ShmPlane plane(rank.board(), arenas);
  NeverInterrupt interrupt;
  Member member = {plane,
                   rank.rank(),
                   rank.ranks(),
                   ranks_here,
                   interrupt,
                   [&](std::vector<int> members) {
                     return std::make_unique<ShmPlane>(
                         rank.board(), std::move(members), arenas);
                   }};
  body(member);
}

inline void run_on_shm(transport::Communicator& communicator, int ranks_here,
                       const Body& body,
                       const ShmOptions& options = kSmallShm) {
  RankBoard rank(communicator, options);
  run_on_board(rank, nullptr, ranks_here, body);
}

// Like run_on_shm, with some or all tensors of `body` in the rank's arena.
struct ArenaFleetOptions {
  Placement::Kind placement = Placement::Kind::kArena;
  bool read_only = false;
};

inline void run_on_arenas(transport::Communicator& communicator, int ranks_here,
                          const Body& body, const ArenaFleetOptions& options) {
  // Small extents, so that an arena has several.
  constexpr std::size_t kExtentBytes = 64 << 10;
  constexpr ShmOptions kShm = {.chunk_bytes = 1024,
                               .small_bytes = 512,
                               .unlisted_bytes = 64,
                               .copied_bytes = 64};
  RankBoard rank(communicator, kShm, ArenaMap::bytes_needed);
  const auto arena = std::make_shared<Arena>(
      Arena::Options{.first_extent_bytes = kExtentBytes});
  ArenaMap map(arena, {.rank = rank.rank(), .ranks = rank.ranks()},
               rank.before(), options.read_only);
  const Placement placement(options.placement, arena);
  run_on_board(rank, &map, ranks_here, body);
}

// Calls body(communicator) on each of `ranks` threads.
inline void on_loopback(
    int ranks, const std::function<void(transport::Communicator&)>& body) {
  transport::LoopbackWorld world(ranks);
  on_threads(ranks, [&](int rank) {
    const auto communicator = world.communicator(rank);
    body(*communicator);
  });
}

// A plane with only the calls that a new plane must have, a ring's allreduce
// and alltoall.
class PlainPlane : public RingPlane {
 public:
  using RingPlane::RingPlane;

 private:
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override {
    return HostPlane::move(pieces, counts, kernel, call);
  }
  absl::Status move(const Allgather& what, const Call& call) override {
    return HostPlane::move(what, call);
  }
  absl::Status move(const Broadcast& what, const Call& call) override {
    return HostPlane::move(what, call);
  }
  absl::Status meet(const Call& call) override { return HostPlane::meet(call); }
};

class RingOfThreads {
 public:
  void run(const Body& body) {
    for (const int ranks : {1, 2, 3, 4}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_ring(communicator, ranks, body);
      });
    }
  }
};

class PlainOfThreads {
 public:
  void run(const Body& body) {
    for (const int ranks : {1, 3}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_ring<PlainPlane>(communicator, ranks, body);
      });
    }
  }
};

class ShmOfThreads {
 public:
  void run(const Body& body) {
    for (const int ranks : {1, 2, 3, 4}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_shm(communicator, ranks, body);
      });
    }
  }
};

template <Placement::Kind kPlacement, bool kReadOnly>
class ArenasOfThreads {
 public:
  void run(const Body& body) {
    for (const int ranks : {1, 2, 3, 4}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_arenas(communicator, ranks, body,
                      {.placement = kPlacement, .read_only = kReadOnly});
      });
    }
  }
};

}  // namespace hvd::collective
