// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/host_plane.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

// Moves nothing; records its calls and returns the outcome that a test sets.
class NotingPlane : public HostPlane {
 public:
  NotingPlane(int rank, int ranks, absl::Status fitness = {})
      : HostPlane(rank, ranks, fitness) {}
  std::string name() const override { return "noting"; }

  std::string asked;
  absl::Status answer;

 private:
  absl::Status note(const char* what) {
    asked += what;
    return answer;
  }
  absl::Status move(std::span<const Piece>, const ReduceKernel&,
                    const Call&) override {
    return note("r");
  }
  absl::Status move(std::span<const Piece>, std::span<const std::int64_t>,
                    const ReduceKernel&, const Call&) override {
    return note("s");
  }
  absl::Status move(const Allgather&, const Call&) override {
    return note("g");
  }
  absl::Status move(const Broadcast&, const Call&) override {
    return note("b");
  }
  absl::Status move(const Alltoall&, const Call&) override { return note("a"); }
  absl::Status meet(const Call&) override { return note("y"); }
};

struct Data {
  std::array<float, 2> in = {3, 5};
  std::array<float, 2> out = {};
  NeverInterrupt interrupt;
  Call call = {{1, 1}, interrupt};

  std::span<const std::byte> bytes() { return std::as_bytes(std::span(in)); }
  std::byte* output() { return reinterpret_cast<std::byte*>(out.data()); }
};

TEST(HostPlane, ServesASingleRankWithoutTransfers) {
  NotingPlane plane(0, 1);
  const Reduction doubled = {.op = ReduceOp::kAverage, .postscale = 2};
  const std::vector<std::size_t> size = {8};
  const std::vector<std::int64_t> count = {2};
  Data data;
  const Piece piece = {data.in.data(), data.out.data(), 2};
  ASSERT_TRUE(plane.allreduce({&piece, 1}, doubled, data.call).ok());
  EXPECT_EQ(data.out, (std::array<float, 2>{6, 10}));
  data.out = {};
  ASSERT_TRUE(plane.reducescatter({&piece, 1}, count, doubled, data.call).ok());
  EXPECT_EQ(data.out, (std::array<float, 2>{6, 10}));
  ASSERT_TRUE(
      plane.allgather(data.bytes(), size, data.output(), data.call).ok());
  EXPECT_EQ(data.out, data.in);
  data.out = {};
  ASSERT_TRUE(
      plane.broadcast(data.bytes().data(), data.output(), 8, 0, data.call)
          .ok());
  EXPECT_EQ(data.out, data.in);
  data.out = {};
  ASSERT_TRUE(
      plane.alltoall(data.bytes(), size, data.output(), size, data.call).ok());
  EXPECT_EQ(data.out, data.in);
  ASSERT_TRUE(plane.barrier(data.call).ok());
  EXPECT_EQ(plane.asked, "");
}

TEST(HostPlane, SynchronizesRanksInEmptyCalls) {
  NotingPlane plane(1, 2);
  Data data;
  const Piece empty = {nullptr, nullptr, 0};
  const std::vector<std::int64_t> counts = {0, 0};
  const std::vector<std::size_t> sizes = {0, 0};
  EXPECT_TRUE(plane.allreduce({&empty, 1}, {}, data.call).ok());
  EXPECT_TRUE(plane.reducescatter({&empty, 1}, counts, {}, data.call).ok());
  EXPECT_TRUE(plane.allgather({}, sizes, nullptr, data.call).ok());
  EXPECT_EQ(plane.asked, "yyy");
  EXPECT_TRUE(plane.broadcast(nullptr, nullptr, 0, 0, data.call).ok());
  EXPECT_EQ(plane.asked, "yyy");
  // Other ranks may have bytes to move.
  EXPECT_TRUE(plane.alltoall({}, sizes, nullptr, sizes, data.call).ok());
  EXPECT_EQ(plane.asked, "yyya");
}

TEST(HostPlane, ReturnsItsFirstFailureForEver) {
  NotingPlane plane(0, 2);
  Data data;
  plane.answer = absl::UnavailableError("rank 1 is gone");
  EXPECT_EQ(plane.barrier(data.call), plane.answer);
  const absl::Status first = plane.answer;
  plane.answer = absl::OkStatus();
  EXPECT_EQ(plane.barrier(data.call), first);
  EXPECT_EQ(plane.broadcast(nullptr, nullptr, 0, 0, data.call), first);
  EXPECT_EQ(plane.asked, "y");
}

TEST(HostPlane, GoesOnAfterAnAbandonedOrInvalidCall) {
  NotingPlane plane(0, 2);
  Data data;
  plane.answer = absl::CancelledError("never mind");
  EXPECT_EQ(plane.barrier(data.call), plane.answer);
  plane.answer = absl::OkStatus();
  EXPECT_FALSE(plane.broadcast(nullptr, nullptr, 1, 2, data.call).ok());
  EXPECT_TRUE(plane.barrier(data.call).ok());
  EXPECT_EQ(plane.asked, "yy");
}

TEST(HostPlane, RefusesCallsWhereItIsUnfit) {
  const absl::Status unfit = absl::InvalidArgumentError("no member");
  NotingPlane plane(0, 1, unfit);
  Data data;
  EXPECT_EQ(plane.barrier(data.call), unfit);
  EXPECT_EQ(plane.allreduce({}, {}, data.call), unfit);
}

}  // namespace
}  // namespace hvd::collective
