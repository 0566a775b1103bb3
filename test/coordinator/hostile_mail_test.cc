// SPDX-License-Identifier: Apache-2.0
// Invalid mail causes an error that names its sender, or is ignored; never a
// crash. test/fuzz searches for more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/coordinator/coordinator.h"
#include "test/coordinator/protocol/sample_messages.h"
#include "test/fuzz/fuzz_job.h"

namespace hvd::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint32_t kEpoch = 7;

// Rank 2 of a job on the nodes {0, 1} and {2, 3}: a leader below the root.
class HostileMail : public ::testing::Test {
 protected:
  static constexpr int kRank = 2;
  static constexpr int kRoot = 0;
  static constexpr std::uint32_t kSlots = 4;

  HostileMail()
      : memory_(SharedBoard::bytes_needed(kSlots) / sizeof(Block) + 1),
        board_(std::as_writable_bytes(std::span(memory_)), 0, 2, kSlots),
        coordinator_({.rank = kRank,
                      .tree = std::make_shared<const Tree>(
                          std::vector<std::vector<int>>{{0, 1}, {2, 3}}),
                      .epoch = kEpoch,
                      .cache_capacity = kSlots},
                     board_, clock_) {}

  absl::Status receive(int from, const Message& message) {
    return coordinator_.receive(from, encode(kEpoch, message));
  }
  static Define definition(std::uint32_t id, std::uint32_t slot) {
    return {.id = id,
            .slot = slot,
            .participants = 4,
            .request = std::make_shared<const Request>(sample_allreduce())};
  }

  struct alignas(128) Block {
    std::byte bytes[128] = {};
  };
  std::vector<Block> memory_;
  SharedBoard board_;
  ManualClock clock_;
  Coordinator coordinator_;
};

TEST_F(HostileMail, AMalformedMessageIsAnErrorThatNamesTheSender) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string(1000, '\xff')}) {
    const absl::Status status = coordinator_.receive(3, bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), StartsWith("mail from rank 3:"));
  }
}

TEST_F(HostileMail, AnInvalidRequestIsAnErrorThatNamesSenderAndValue) {
  Request request = sample_allreduce();
  request.tensors[0].dtype = static_cast<DType>(77);
  absl::Status status = receive(3, Propose{.request = shared(request)});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("mail from rank 3:"),
                    HasSubstr("is malformed: it names dtype 77")));
  request = sample_allreduce();
  request.prescale = std::nan("");
  status = receive(3, Propose{.request = shared(request)});
  EXPECT_THAT(std::string(status.message()), HasSubstr("it names scale nan"));
}

TEST_F(HostileMail, OfAnotherEpochIsDropped) {
  EXPECT_EQ(coordinator_.receive(3, encode(kEpoch + 1, Break{"stale"})),
            absl::OkStatus());
  EXPECT_EQ(coordinator_.receive(3, encode(kEpoch - 1, Round{})),
            absl::OkStatus());
}

TEST_F(HostileMail, ABreakOfAnySenderKeepsItsText) {
  for (const int from : {0, 1, 3}) {
    const absl::Status status = receive(from, Break{"rank 1 is gone"});
    EXPECT_TRUE(absl::IsAborted(status));
    EXPECT_EQ(status.message(), "rank 1 is gone");
  }
}

TEST_F(HostileMail, OrdersAreTakenFromTheParentOnly) {
  for (const int from : {1, 2, 3, -1, 99}) {
    const absl::Status status = receive(from, Halt{1});
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("came down the tree from a rank that is not above"));
  }
  EXPECT_EQ(receive(kRoot, Halt{1}), absl::OkStatus());
}

TEST_F(HostileMail, ReportsAreTakenFromOwnRanksAndChildrenOnly) {
  for (const int from : {0, 1, -1, 99}) {
    EXPECT_TRUE(absl::IsInvalidArgument(receive(from, Leave{1})));
  }
  EXPECT_EQ(receive(3, Leave{3}), absl::OkStatus());
}

TEST_F(HostileMail, ADefinitionOutsideTheBoardIsRefused) {
  for (const std::uint32_t slot : {kSlots, 1000000u, kNoSlot - 1}) {
    const absl::Status status = receive(kRoot, definition(1, slot));
    EXPECT_THAT(std::string(status.message()), StartsWith("mail from rank 0:"));
  }
  EXPECT_EQ(receive(kRoot, definition(1, kSlots - 1)), absl::OkStatus());
}

TEST_F(HostileMail, AScheduleOfAnUndefinedIdIsRefused) {
  for (const RecordKind kind : {RecordKind::kRun, RecordKind::kRetire,
                                RecordKind::kCycle, RecordKind::kReject}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        receive(kRoot, Round{{{.kind = kind, .id = 77}}})));
  }
}

TEST_F(HostileMail, AnIdThatRunsTwiceAtOnceIsAnError) {
  coordinator_.submit(sample_allreduce());
  EXPECT_EQ(receive(kRoot, definition(1, kNoSlot)), absl::OkStatus());
  EXPECT_EQ(receive(kRoot, Round{{{.id = 1, .ends_batch = false}, {.id = 1}}}),
            absl::OkStatus());
  EXPECT_EQ(coordinator_.step(), absl::OkStatus());
  EXPECT_TRUE(absl::IsInternal(coordinator_.next_batch().status()));
}

TEST_F(HostileMail, TheEndOfNoCycleIsAnError) {
  EXPECT_EQ(receive(kRoot, Round{{{.kind = RecordKind::kEndCycle}}}),
            absl::OkStatus());
  EXPECT_EQ(coordinator_.step(), absl::OkStatus());
  EXPECT_TRUE(absl::IsInternal(coordinator_.next_batch().status()));
}

TEST_F(HostileMail, AnUnrequestedAnswerIsDropped) {
  EXPECT_EQ(receive(3, Inspected{.query = 9}), absl::OkStatus());
}

// States of a job in which a message may arrive.
void do_nothing(FuzzJob&) {}
void all_ranks_move(FuzzJob& job) {
  for (int turn = 0; turn < 4; ++turn) {
    for (int rank = 0; rank < FuzzJob::kRanks; ++rank) job.move(rank);
    job.deliver_everything();
    for (int rank = 0; rank < FuzzJob::kRanks; ++rank) job.finish(rank);
  }
}
void steps(FuzzJob& job, int count) {
  for (int step = 0; step < count; ++step) {
    for (int rank = 0; rank < FuzzJob::kRanks; ++rank) {
      job.submit(rank, sample_allreduce("a"));
      job.submit(rank, sample_allreduce("b"));
    }
    all_ranks_move(job);
  }
}
void know_names(FuzzJob& job) { steps(job, 1); }
void be_in_a_cycle(FuzzJob& job) {
  steps(job, 6);
  job.submit(1, sample_allreduce("a"));
}
void have_left(FuzzJob& job) {
  know_names(job);
  for (int rank = 0; rank < FuzzJob::kRanks; ++rank) job.leave(rank);
  all_ranks_move(job);
}

std::vector<Message> senseless_messages() {
  std::vector<Message> messages = sample_messages();
  for (const std::uint32_t number : {0u, 1u, 0xffffffffu}) {
    messages.push_back(Outdated{number});
    messages.push_back(Ready{{number, number}});
    messages.push_back(Passed{{number}});
    messages.push_back(Join{number});
    messages.push_back(Joined{number, 1});
    messages.push_back(Stop{number});
    messages.push_back(Halted{number, 0});
    messages.push_back(Measured{.number = number, .step = 1, .ends = {number}});
    messages.push_back(Halt{number});
    messages.push_back(Round{{{.kind = RecordKind::kRun, .id = number}}});
    messages.push_back(Round{{{.kind = RecordKind::kRetire, .id = number}}});
    messages.push_back(Round{{{.kind = RecordKind::kEndCycle}}});
    messages.push_back(Stalled{{number, "a"}, number});
  }
  return messages;
}

class HostileMailInAnyState
    : public ::testing::TestWithParam<void (*)(FuzzJob&)> {};

// A FuzzJob ends the program if a rank crashes or its output is malformed.
TEST_P(HostileMailInAnyState, CrashesNoRank) {
  for (const Message& message : senseless_messages()) {
    for (const int from : {-1, 0, 2, 3, FuzzJob::kRanks}) {
      for (const int to : {0, 1, 2, 4}) {
        FuzzJob job(4);
        GetParam()(job);
        job.inject(from, to, message);
        steps(job, 1);
        job.inject(from, to, message);
        all_ranks_move(job);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(States, HostileMailInAnyState,
                         ::testing::Values(&do_nothing, &know_names,
                                           &be_in_a_cycle, &have_left));

}  // namespace
}  // namespace hvd::coordinator
