// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/message_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "horovodpp/coordinator/protocol/node_board.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr JobBounds kJob = {.ranks = 3, .slots = 4};

std::string complaint(const Message& message, const JobBounds& job = kJob) {
  const absl::Status status = check_message(message, job);
  if (status.ok()) return "";
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

Define definition(Request request, std::uint32_t slot = kNoSlot) {
  return {.slot = slot,
          .participants = 2,
          .result = 1,
          .request = std::make_shared<const Request>(std::move(request))};
}

TEST(MessageChecks, AcceptsValidMessages) {
  for (const Message& message : sample_messages()) {
    EXPECT_EQ(complaint(message), "") << "type " << message.index();
  }
}

TEST(MessageChecks, AnInvalidRankIsRefusedInEveryField) {
  for (const int rank : {3, -1, std::numeric_limits<int>::max(),
                         std::numeric_limits<int>::min()}) {
    Request broadcast = sample_broadcast();
    broadcast.root = rank;
    Request add = sample_add_process_set();
    add.ranks = {0, rank};
    for (const Message& message : std::vector<Message>{
             Propose{.rank = rank, .request = shared(sample_allreduce())},
             Propose{.request = shared(sample_allreduce()), .other_rank = rank},
             Joined{kGlobalSet, rank}, Leave{rank},
             Inspected{.ready = {0, rank}},
             Inspected{.missing = {{.rank = 1}, {.rank = rank}}},
             definition(broadcast), definition(add),
             Round{{{.kind = RecordKind::kLeave,
             .id = static_cast<std::uint32_t>(rank)}}},
             Round{{{.kind = RecordKind::kJoined,
             .value = static_cast<std::uint64_t>(rank)}}}}) {
      EXPECT_THAT(complaint(message), HasSubstr("of a job of 3 ranks"))
          << "type " << message.index();
    }
  }
}

TEST(MessageChecks, ParticipantsAreBoundedByTheJob) {
  for (const std::uint32_t count : {0u, 4u, 0xffffffffu}) {
    EXPECT_NE(complaint(Propose{.request = shared(sample_allreduce()),
                                .count = count}),
              "");
    Define define = definition(sample_allreduce());
    define.participants = static_cast<int>(count);
    EXPECT_NE(complaint(define), "");
  }
}

TEST(MessageChecks, ASlotIsOnTheBoardOrNone) {
  EXPECT_EQ(complaint(definition(sample_allreduce(), 3)), "");
  EXPECT_EQ(complaint(definition(sample_allreduce(), kNoSlot)), "");
  for (const std::uint32_t slot : {4u, kNoSlot - 1}) {
    EXPECT_THAT(complaint(definition(sample_allreduce(), slot)),
                HasSubstr("on a board of 4"));
  }
  EXPECT_NE(complaint(definition(sample_allreduce(), 0), {.ranks = 3}), "");
}

TEST(MessageChecks, TheWholeJobIsNoSetToAddOrRemove) {
  Define add = definition(sample_add_process_set());
  add.result = kGlobalSet;
  EXPECT_NE(complaint(add), "");
  Request remove = sample_remove_process_set();
  remove.subject = kGlobalSet;
  EXPECT_NE(complaint(definition(remove)), "");
}

TEST(MessageChecks, SetsChangeForTheWholeJobAndOnce) {
  EXPECT_NE(complaint(definition(sample_add_process_set(), 1)), "");
  Request of_a_set = sample_remove_process_set();
  of_a_set.key.process_set = 2;
  EXPECT_NE(complaint(definition(of_a_set)), "");
}

TEST(MessageChecks, AJoinIsNeitherProposedNorDefined) {
  Request join;
  join.kind = RequestKind::kJoin;
  EXPECT_NE(complaint(Propose{.request = shared(join)}), "");
  EXPECT_NE(complaint(definition(join)), "");
}

TEST(MessageChecks, ARejectionHasAReason) {
  EXPECT_EQ(complaint(Reject{.code = 1}), "");
  EXPECT_EQ(complaint(Reject{.code = 16}), "");
  // OK and unknown codes give no reason.
  for (const std::uint32_t code : {0u, 17u, 0xffffffffu}) {
    EXPECT_THAT(complaint(Reject{.code = code}), HasSubstr("error code"));
  }
}

TEST(MessageChecks, ARoundIsNeitherEmptyNorTooLong) {
  EXPECT_NE(complaint(Round{}), "");
  EXPECT_EQ(complaint(Round{std::vector<Record>(kMaxAppend)}), "");
  EXPECT_NE(complaint(Round{std::vector<Record>(kMaxAppend + 1)}), "");
}

TEST(MessageChecks, ARoundEndsWithABatch) {
  EXPECT_NE(complaint(Round{{{.ends_batch = false}}}), "");
  EXPECT_NE(complaint(Round{{{}, {.ends_batch = false}}}), "");
}

TEST(MessageChecks, OnlyRunsAndACycleAreSeveralRecordsReadAsOne) {
  for (int left = 0; left <= static_cast<int>(kLastRecordKind); ++left) {
    for (int right = 0; right <= static_cast<int>(kLastRecordKind); ++right) {
      const auto first = static_cast<RecordKind>(left);
      const auto second = static_cast<RecordKind>(right);
      const bool may_be =
          (first == RecordKind::kRun && second == RecordKind::kRun) ||
          (first == RecordKind::kCycle &&
           (second == RecordKind::kCycle || second == RecordKind::kStartCycle));
      const Round round = {
          {{.kind = first, .ends_batch = false}, {.kind = second}}};
      EXPECT_EQ(complaint(round).empty(), may_be) << left << ", " << right;
    }
  }
}

}  // namespace
}  // namespace hvd::coordinator
