// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr ShmOptions kShortSlots = {.chunk_bytes = 1024,
                                    .small_bytes = 512,
                                    .unlisted_bytes = 64,
                                    .copied_bytes = 64};

// A rank with an arena. Its memory lies in the arena or on the heap.
struct Resident {
  ShmBoard& board;
  ShmPlane& plane;
  std::shared_ptr<Arena> arena;
  int rank;
  NeverInterrupt never = {};

  std::vector<std::byte, ArenaAllocator<std::byte>> in_arena(std::size_t bytes,
                                                             int value) const {
    return {bytes, std::byte(value), ArenaAllocator<std::byte>(arena)};
  }

  // Makes call 1; returns its steps on the board: one if all copies were direct.
  std::uint64_t gather(std::span<const std::byte> input,
                       std::span<const std::size_t> bytes, std::byte* output) {
    return steps_of(plane.allgather(input, bytes, output, {{1, 1}, never}));
  }
  std::uint64_t exchange(std::span<const std::byte> input,
                         std::span<const std::size_t> sends, std::byte* output,
                         std::span<const std::size_t> receives) {
    return steps_of(
        plane.alltoall(input, sends, output, receives, {{1, 1}, never}));
  }
  std::uint64_t broadcast(std::byte* memory, std::size_t bytes, int root) {
    return steps_of(
        plane.broadcast(memory, memory, bytes, root, {{1, 1}, never}));
  }
  std::uint64_t reduce(const Piece& piece) {
    return steps_of(plane.allreduce({&piece, 1}, {}, {{1, 1}, never}));
  }
  std::uint64_t steps_of(const absl::Status& status) const {
    EXPECT_TRUE(status.ok()) << status;
    return board.steps();
  }
};

void on_residents(int ranks, bool read_only,
                  const std::function<void(Resident&)>& body) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    RankBoard board(communicator, kShortSlots, ArenaMap::bytes_needed);
    const auto arena = std::make_shared<Arena>(
        Arena::Options{.first_extent_bytes = std::size_t{1} << 20});
    ArenaMap map(arena, {.rank = board.rank(), .ranks = ranks}, board.before(),
                 read_only);
    ShmPlane plane(board.board(), &map);
    // Members look up each other's memory from the next call on.
    const auto memory = arena->allocate(1);
    ASSERT_TRUE(memory.ok() && arena->deallocate(*memory).ok());
    map.publish();
    Resident resident = {board.board(), plane, arena, board.rank()};
    ASSERT_TRUE(plane.barrier({{1, 0}, resident.never}).ok());
    body(resident);
  });
}

std::vector<std::byte> parts_of(int ranks, std::size_t bytes) {
  std::vector<std::byte> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    parts.insert(parts.end(), bytes, std::byte(rank + 1));
  }
  return parts;
}

TEST(ArenaCopies, GatherFromInputsInArenas) {
  for (const bool read_only : {false, true}) {
    on_residents(3, read_only, [](Resident& self) {
      const std::vector<std::size_t> bytes(3, 5000);
      const auto input = self.in_arena(5000, self.rank + 1);
      std::vector<std::byte> output(15000);
      EXPECT_EQ(self.gather(input, bytes, output.data()), 1u);
      EXPECT_EQ(output, parts_of(3, 5000));
    });
  }
}

TEST(ArenaCopies, GatherIntoOutputsInArenas) {
  on_residents(3, false, [](Resident& self) {
    const std::vector<std::size_t> bytes(3, 5000);
    const std::vector<std::byte> input(5000, std::byte(self.rank + 1));
    auto output = self.in_arena(15000, 0);
    EXPECT_EQ(self.gather(input, bytes, output.data()), 1u);
    EXPECT_EQ(std::vector<std::byte>(output.begin(), output.end()),
              parts_of(3, 5000));
  });
}

TEST(ArenaCopies, WriteIntoNoArenaThatIsReadOnly) {
  on_residents(2, true, [](Resident& self) {
    const std::vector<std::size_t> bytes(2, 5000);
    const std::vector<std::byte> input(5000, std::byte(self.rank + 1));
    auto output = self.in_arena(10000, 0);
    EXPECT_GT(self.gather(input, bytes, output.data()), 1u);
    EXPECT_EQ(std::vector<std::byte>(output.begin(), output.end()),
              parts_of(2, 5000));
  });
}

TEST(ArenaCopies, ExchangeTensorsInArenas) {
  // kNotAll: inputs lie in arenas except on the last rank, so the call moves
  // chunks.
  enum class There { kInputs, kOutputs, kBoth, kNotAll };
  for (const There there :
       {There::kInputs, There::kOutputs, There::kBoth, There::kNotAll}) {
    on_residents(3, false, [&](Resident& self) {
      // Rank r sends 1000 * (r + 1) bytes to each rank.
      const std::size_t each = 1000 * static_cast<std::size_t>(self.rank + 1);
      const std::vector<std::size_t> sends(3, each);
      const std::vector<std::size_t> receives = {1000, 2000, 3000};
      const bool spoils = there == There::kNotAll && self.rank == 2;
      const auto near_input = self.in_arena(3 * each, self.rank + 1);
      auto near_output = self.in_arena(6000, 0);
      const std::vector<std::byte> far_input(3 * each,
                                             std::byte(self.rank + 1));
      std::vector<std::byte> far_output(6000);
      const bool far = there == There::kOutputs || spoils;
      const bool is_output_near =
          there == There::kOutputs || there == There::kBoth;
      std::byte* const output =
          is_output_near ? near_output.data() : far_output.data();
      const std::span<const std::byte> input =
          far ? std::span<const std::byte>(far_input) : near_input;
      const std::uint64_t steps = self.exchange(input, sends, output, receives);
      EXPECT_EQ(steps == 1, there != There::kNotAll) << steps;
      for (int from = 0, at = 0; from < 3; ++from) {
        const int bytes = 1000 * (from + 1);
        EXPECT_THAT(std::vector<std::byte>(output + at, output + at + bytes),
                    Each(std::byte(from + 1)));
        at += bytes;
      }
    });
  }
}

TEST(ArenaCopies, GatherIntoResultsOfThePlanesOwn) {
  for (const bool read_only : {false, true}) {
    on_residents(3, read_only, [&](Resident& self) {
      // Small parts are copied through slots anyway.
      EXPECT_EQ(self.plane.result_memory({.mine = 64, .all = 64}), nullptr);
      EXPECT_EQ(self.plane.result_memory({.mine = 0, .all = 15000}), nullptr);
      const auto output =
          self.plane.result_memory({.mine = 15000, .all = 45000});
      ASSERT_EQ(output == nullptr, read_only);
      if (read_only) return;
      const std::vector<std::size_t> bytes(3, 5000);
      const std::vector<std::byte> input(5000, std::byte(self.rank + 1));
      EXPECT_EQ(self.gather(input, bytes, output.get()), 1u);
      EXPECT_EQ(std::vector<std::byte>(output.get(), output.get() + 15000),
                parts_of(3, 5000));
    });
  }
}

TEST(ArenaCopies, ShowLittleAlongWithItsSizes) {
  on_residents(3, false, [](Resident& self) {
    const std::vector<std::byte> input(3, std::byte(self.rank + 1));
    const std::vector<std::size_t> each(3, 1);
    std::vector<std::byte> output(3);
    EXPECT_EQ(self.exchange(input, each, output.data(), each), 1u);
    EXPECT_THAT(output, ElementsAre(std::byte(1), std::byte(2), std::byte(3)));
  });
}

TEST(ArenaCopies, GatherInOneStepIfAllRanksUseOtherMemory) {
  // One step if the bytes fit into a slot next to the list of extents.
  for (const std::size_t each : {std::size_t{65}, std::size_t{512}}) {
    on_residents(3, false, [&](Resident& self) {
      const std::vector<std::size_t> bytes(3, each);
      const std::vector<std::byte> input(each, std::byte(self.rank + 1));
      std::vector<std::byte> output(3 * each);
      EXPECT_EQ(self.gather(input, bytes, output.data()), 1u);
      EXPECT_EQ(output, parts_of(3, each));
    });
  }
}

TEST(ArenaCopies, GatherInTwoStepsIfSomeRanksUseOtherMemory) {
  on_residents(3, false, [](Resident& self) {
    const std::vector<std::size_t> bytes(3, 512);
    const std::vector<std::byte> far(512, std::byte(self.rank + 1));
    const auto near = self.in_arena(512, self.rank + 1);
    const std::span<const std::byte> input =
        self.rank == 0 ? std::span<const std::byte>(near) : far;
    std::vector<std::byte> output(1536);
    EXPECT_EQ(self.gather(input, bytes, output.data()), 2u);
    EXPECT_EQ(output, parts_of(3, 512));
  });
}

TEST(ArenaCopies, BroadcastTheFirstBytesFromOtherMemoryInTheFirstStep) {
  // A slot of 1024 bytes also holds the list of extents.
  for (const auto& [bytes, steps] :
       {std::pair{std::size_t{800}, 1u}, {std::size_t{1800}, 2u}}) {
    on_residents(3, false, [&, bytes = bytes, steps = steps](Resident& self) {
      std::vector<std::byte> memory(bytes);
      for (std::size_t i = 0; i < bytes; ++i) {
        memory[i] = std::byte(self.rank == 2 ? i % 251 : 255);
      }
      EXPECT_EQ(self.broadcast(memory.data(), bytes, 2), steps);
      for (std::size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(memory[i], std::byte(i % 251)) << i;
      }
    });
  }
}

TEST(ArenaCopies, ReduceInOneStepIfAllRanksUseOtherMemory) {
  // If the tensor lies on the heap on all ranks, every rank reduces a slice in
  // the same step. If only on some ranks, another step follows.
  for (const bool everywhere : {true, false}) {
    on_residents(3, false, [&](Resident& self) {
      constexpr std::int64_t kCount = 200;
      auto near = self.in_arena(kCount * sizeof(float), 0);
      std::vector<float> far(kCount);
      float* const data = everywhere || self.rank > 0
                              ? far.data()
                              : reinterpret_cast<float*>(near.data());
      for (std::int64_t i = 0; i < kCount; ++i) {
        data[i] = static_cast<float>(i * (self.rank + 1));
      }
      const Piece piece = {data, data, kCount};
      EXPECT_EQ(self.reduce(piece), everywhere ? 1u : 2u);
      for (std::int64_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(data[i], static_cast<float>(6 * i)) << i;
      }
    });
  }
}

TEST(ArenaCopies, ShareABroadcastIntoOutputsInArenas) {
  for (const bool read_only : {false, true}) {
    on_residents(3, read_only, [](Resident& self) {
      auto memory = self.in_arena(300'001, self.rank + 1);
      EXPECT_EQ(self.broadcast(memory.data(), memory.size(), 1), 1u);
      EXPECT_THAT(memory, Each(std::byte(2)));
    });
  }
}

TEST(ArenaCopies, ReturnOnlyAfterAllReadersAreDone) {
  // A rank that changes its input right after a call must not change the
  // results of others.
  on_residents(2, false, [](Resident& self) {
    NeverInterrupt interrupt;
    const std::vector<std::size_t> bytes(2, 5000);
    auto input = self.in_arena(5000, 0);
    std::vector<std::byte> output(10000);
    for (std::uint32_t turn = 1; turn < 50; ++turn) {
      std::fill(input.begin(), input.end(), std::byte(turn));
      ASSERT_TRUE(
          self.plane
              .allgather(input, bytes, output.data(), {{1, turn}, interrupt})
              .ok());
      ASSERT_THAT(output, Each(std::byte(turn)));
    }
  });
}

// Fails once `gone` is set.
class UntilGone : public transport::Interrupt {
 public:
  explicit UntilGone(const std::atomic<bool>& gone) : gone_(gone) {}
  absl::Status check() override {
    return gone_ ? absl::AbortedError("rank 1 has gone") : never_.check();
  }

 private:
  const std::atomic<bool>& gone_;
  NeverInterrupt never_;
};

TEST(ArenaCopies, NeverWriteToARankThatGaveUp) {
  std::atomic<bool> gone{false};
  std::atomic<bool> all_over{false};
  on_residents(2, false, [&](Resident& self) {
    const std::vector<std::size_t> bytes(2, 100'000);
    const std::vector<std::byte> input(100'000, std::byte(self.rank + 1));
    auto output = self.in_arena(200'000, 0);
    UntilGone until_gone(gone);
    FailingInterrupt failing(0);
    const bool fails = self.rank == 1;
    const absl::Status status = self.plane.allgather(
        input, bytes, output.data(),
        {{1, 1},
         fails ? static_cast<transport::Interrupt&>(failing) : until_gone});
    if (!fails) {
      all_over = true;
      return;
    }
    std::fill(output.begin(), output.end(), std::byte(9));
    gone = true;
    while (!all_over) std::this_thread::yield();
    EXPECT_THAT(output, Each(std::byte(9))) << status;
  });
}

}  // namespace
}  // namespace hvd::collective
