// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks: sends, receives, tags, and any source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "test/runtime/suite_support.h"

namespace hvd::suite {

// Few bytes, some that go in one part, and some in several.
constexpr std::int64_t kMessageSizes[] = {0, 1, 1000, 5000, 400000};

// The value that rank `from` sends to rank `to`.
inline std::vector<float> message_of(int from, int to, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<float>(1000 * from + 100 * to) + static_cast<float>(i % 97);
  }
  return values;
}

inline TensorView view_of(std::vector<float>& values) {
  return TensorView::of(values.data(),
                        {static_cast<std::int64_t>(values.size())});
}

inline void messages_reach_the_rank_that_they_are_for(Runtime& job) {
  const int size = size_of(job);
  const int mine = rank_of(job);
  for (const std::int64_t count : kMessageSizes) {
    std::vector<std::vector<float>> sent;
    std::vector<std::vector<float>> received(
        static_cast<std::size_t>(size),
        std::vector<float>(static_cast<std::size_t>(count)));
    std::vector<Future<void>> sends;
    std::vector<Future<int>> receives;
    for (int to = 0; to < size; ++to)
      sent.push_back(message_of(mine, to, count));
    for (int other = 0; other < size; ++other) {
      const auto i = static_cast<std::size_t>(other);
      sends.push_back(job.send_async(view_of(sent[i]), other, {.tag = mine}));
      receives.push_back(
          job.receive_async(view_of(received[i]), other, {.tag = other}));
    }
    for (int from = 0; from < size; ++from) {
      const auto i = static_cast<std::size_t>(from);
      const auto source = receives[i].wait();
      ASSERT_EQ(source.status(), absl::OkStatus());
      EXPECT_EQ(*source, from);
      EXPECT_EQ(received[i], message_of(from, mine, count));
      EXPECT_EQ(sends[i].wait(), absl::OkStatus());
    }
  }
}

inline void messages_of_one_sender_do_not_overtake(Runtime& job) {
  constexpr int kMessages = 30;
  const int size = size_of(job);
  const int next = (rank_of(job) + 1) % size;
  const int previous = (rank_of(job) + size - 1) % size;
  std::vector<std::vector<float>> sent;
  for (int i = 0; i < kMessages; ++i) {
    sent.push_back(
        std::vector<float>(i % 3 == 0 ? 100000 : 2, static_cast<float>(i)));
  }
  std::vector<Future<void>> sends;
  for (auto& values : sent) {
    sends.push_back(job.send_async(view_of(values), next, {.tag = 5}));
  }
  for (const auto& values : sent) {
    std::vector<float> received(values.size());
    EXPECT_EQ(
        source_of(
            job.receive_async(view_of(received), previous, {.tag = 5}).wait()),
        previous);
    EXPECT_EQ(received, values);
  }
  for (const Future<void>& send : sends) {
    EXPECT_EQ(send.wait(), absl::OkStatus());
  }
}

inline void tags_and_sets_keep_messages_apart(Runtime& job) {
  const int last = size_of(job) - 1;
  const ProcessSet set =
      *job.new_process_set_async({rank_of(job)}, "own").wait();
  std::vector<float> values = {1, 2, 3};
  const auto one = TensorView::of(&values[0], {1});
  const auto two = TensorView::of(&values[1], {1});
  const auto three = TensorView::of(&values[2], {1});
  float first = 0;
  float second = 0;
  float third = 0;
  const Future<void> own =
      job.send_async(three, rank_of(job), {.tag = 1, .process_set = set});
  std::vector<Future<void>> sends;
  if (rank_of(job) == last) {
    sends.push_back(job.send_async(one, 0, {.tag = 1}));
    sends.push_back(job.send_async(two, 0, {.tag = -2}));
  }
  if (rank_of(job) == 0) {
    EXPECT_EQ(source_of(job.receive_async(TensorView::of(&second, {1}), last,
                                          {.tag = -2})
                            .wait()),
              last);
    EXPECT_EQ(source_of(job.receive_async(TensorView::of(&first, {1}), last,
                                          {.tag = 1})
                            .wait()),
              last);
    EXPECT_EQ(first, 1.0f);
    EXPECT_EQ(second, 2.0f);
  }
  EXPECT_EQ(source_of(job.receive_async(TensorView::of(&third, {1}), kAnySource,
                                        {.tag = 1, .process_set = set})
                          .wait()),
            rank_of(job));
  EXPECT_EQ(third, 3.0f);
  EXPECT_EQ(own.wait(), absl::OkStatus());
  for (const Future<void>& send : sends) {
    EXPECT_EQ(send.wait(), absl::OkStatus());
  }
}

inline void a_receive_from_any_source_names_the_sender(Runtime& job) {
  for (const std::int64_t count : kMessageSizes) {
    if (count == 0) continue;
    // A rank that is ahead sends its next message already.
    const MessageOptions options = {.tag = static_cast<int>(count)};
    std::vector<float> mine = message_of(rank_of(job), 0, count);
    const Future<void> send = job.send_async(view_of(mine), 0, options);
    if (rank_of(job) == 0) {
      std::set<int> sources;
      for (int i = 0; i < size_of(job); ++i) {
        std::vector<float> received(static_cast<std::size_t>(count));
        const auto source =
            job.receive_async(view_of(received), kAnySource, options).wait();
        ASSERT_EQ(source.status(), absl::OkStatus());
        EXPECT_EQ(received, message_of(*source, 0, count));
        sources.insert(*source);
      }
      EXPECT_EQ(sources.size(), static_cast<std::size_t>(size_of(job)));
    }
    EXPECT_EQ(send.wait(), absl::OkStatus());
  }
}

// Even ranks send before the collective, odd ranks receive while it is in
// flight. Its order is fixed after a few steps.
inline void messages_have_no_order_with_collectives(Runtime& job) {
  const int size = size_of(job);
  const int rank = rank_of(job);
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  for (int step = 0; step < 30; ++step) {
    float sum = 1;
    float sent = static_cast<float>(100 * rank + step);
    float received = -1;
    const auto sum_view = TensorView::of(&sum, {});
    const auto sent_view = TensorView::of(&sent, {});
    const auto received_view = TensorView::of(&received, {});
    const AllreduceOptions options = {.name = "sum", .op = ReduceOp::kSum};
    if (rank % 2 == 0) {
      const Future<void> send = job.send_async(sent_view, next);
      EXPECT_EQ(source_of(job.receive_async(received_view, previous).wait()),
                previous);
      EXPECT_EQ(send.wait(), absl::OkStatus());
      EXPECT_EQ(job.allreduce_async_(sum_view, options).wait(),
                absl::OkStatus());
    } else {
      const Future<void> reduced = job.allreduce_async_(sum_view, options);
      EXPECT_EQ(source_of(job.receive_async(received_view, previous).wait()),
                previous);
      EXPECT_EQ(job.send_async(sent_view, next).wait(), absl::OkStatus());
      EXPECT_EQ(reduced.wait(), absl::OkStatus());
    }
    ASSERT_EQ(received, static_cast<float>(100 * previous + step));
    ASSERT_EQ(sum, static_cast<float>(size));
  }
}

inline void messages_that_do_not_match_fail_on_both_ranks(Runtime& job) {
  const int last = size_of(job) - 1;
  std::vector<float> values(6);
  std::vector<std::int64_t> numbers(6);
  const auto wrong_size = TensorView::of(values.data(), {5});
  const auto wrong_dtype = TensorView::of(numbers.data(), {3});
  for (const TensorView& wrong : {wrong_size, wrong_dtype}) {
    Future<void> send;
    if (rank_of(job) == 0) send = job.send_async(view_of(values), last);
    if (rank_of(job) == last) {
      const auto status = job.receive_async(wrong, 0).wait().status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(text_of(status),
                  ::testing::HasSubstr("rank 0 sent 24 bytes of float32"));
    }
    if (rank_of(job) == 0) {
      const absl::Status status = send.wait();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
  }
}

inline void messages_to_no_member_are_refused(Runtime& job) {
  float value = 0;
  const auto view = TensorView::of(&value, {});
  const ProcessSet own =
      *job.new_process_set_async({rank_of(job)}, "me").wait();
  const int other = (rank_of(job) + 1) % size_of(job);
  std::vector<Future<void>> refused = {job.send_async(view, size_of(job)),
                                       job.send_async(view, -1)};
  if (other != rank_of(job)) {
    refused.push_back(job.send_async(view, other, {.process_set = own}));
  }
  for (const Future<void>& send : refused) {
    EXPECT_TRUE(send.was_ready());
    EXPECT_TRUE(is_refused(send.wait())) << send.wait();
  }
  EXPECT_TRUE(is_refused(job.receive_async(view, -2).wait().status()));
}

inline void messages_may_lie_in_the_arena(Runtime& job) {
  constexpr std::int64_t kCount = 100000;
  const int last = size_of(job) - 1;
  const auto memory = job.arena()->allocate(kCount * sizeof(float));
  ASSERT_EQ(memory.status(), absl::OkStatus());
  auto* const values = static_cast<float*>(*memory);
  const auto view = TensorView::of(values, {kCount});
  // A receiver maps the arena at the first message.
  for (int i = 0; i < 3; ++i) {
    std::fill_n(values, kCount, static_cast<float>(rank_of(job) + i));
    std::vector<float> received(kCount);
    Future<void> send;
    if (rank_of(job) == last) send = job.send_async(view, 0);
    if (rank_of(job) == 0) {
      EXPECT_EQ(source_of(job.receive_async(view_of(received), last).wait()),
                last);
      EXPECT_EQ(received,
                std::vector<float>(kCount, static_cast<float>(last + i)));
    }
    if (rank_of(job) == last) {
      EXPECT_EQ(send.wait(), absl::OkStatus());
    }
  }
  EXPECT_EQ(job.arena()->deallocate(values), absl::OkStatus());
}

inline constexpr Case kMessageCases[] = {
    {"MessagesReachTheRankThatTheyAreFor",
     messages_reach_the_rank_that_they_are_for},
    {"MessagesOfOneSenderDoNotOvertake",
     messages_of_one_sender_do_not_overtake},
    {"TagsAndSetsKeepMessagesApart", tags_and_sets_keep_messages_apart},
    {"AReceiveFromAnySourceNamesTheSender",
     a_receive_from_any_source_names_the_sender},
    {"MessagesHaveNoOrderWithCollectives",
     messages_have_no_order_with_collectives},
    {"MessagesThatDoNotMatchFailOnBothRanks",
     messages_that_do_not_match_fail_on_both_ranks},
    {"MessagesToNoMemberAreRefused", messages_to_no_member_are_refused},
    {"MessagesMayLieInTheArena", messages_may_lie_in_the_arena}};

}  // namespace hvd::suite
