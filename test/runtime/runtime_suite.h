// What every Runtime keeps, whatever its wires: written once, for a job that is
// already running. Run over threads by runtime_test.cc and over processes by
// runtime_mpi_test.cc. Each function is called by every rank.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/runtime/runtime.h"

namespace hvd::suite {

inline std::string text_of(const absl::Status& status) {
  return std::string(status.message());
}

inline void reduces_in_place_and_out_of_place(Runtime& job) {
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), static_cast<float>(rank));
  const ConstTensorView view = ConstTensorView::of(x.data(), {10, 100});
  const auto sum =
      job.allreduce_async(view, {.name = "x", .op = ReduceOp::kSum}).wait();
  ASSERT_EQ(sum.status(), absl::OkStatus());
  EXPECT_EQ(sum->shape(), Shape({10, 100}));
  const float ranks = static_cast<float>(size * (size - 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(sum->data<float>()[i],
              static_cast<float>(size) * static_cast<float>(i) + ranks);
  }
  EXPECT_EQ(x[1], static_cast<float>(rank + 1));

  ASSERT_EQ(job.allreduce_async_(TensorView::of(x.data(), {1000}),
                                 {.name = "x in place",
                                  .prescale_factor = 2,
                                  .postscale_factor = 0.5})
                .wait(),
            absl::OkStatus());
  EXPECT_FLOAT_EQ(x[10], 10.0f + ranks / static_cast<float>(size));
}

inline void reduces_every_op(Runtime& job) {
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  const auto reduced = [&](ReduceOp op) {
    std::int32_t value = rank + 1;
    const absl::Status done = job.allreduce_async_(TensorView::of(&value, {}),
                                                   {.name = "op", .op = op})
                                  .wait();
    EXPECT_EQ(done, absl::OkStatus());
    return value;
  };
  int factorial = 1;
  for (int i = 2; i <= size; ++i) factorial *= i;
  EXPECT_EQ(reduced(ReduceOp::kSum), size * (size + 1) / 2);
  EXPECT_EQ(reduced(ReduceOp::kAverage), (size + 1) / 2);
  EXPECT_EQ(reduced(ReduceOp::kMin), 1);
  EXPECT_EQ(reduced(ReduceOp::kMax), size);
  EXPECT_EQ(reduced(ReduceOp::kProduct), factorial);
}

inline void gathers_uneven_rows(Runtime& job) {
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  for (int step = 0; step < 3; ++step) {
    const int rows = (rank + step) % 3;  // None, too.
    std::vector<std::int64_t> mine(static_cast<std::size_t>(2 * rows), rank);
    const auto all =
        job.allgather_async(ConstTensorView::of(mine.data(), {rows, 2}),
                            {.name = "rows"})
            .wait();
    ASSERT_EQ(all.status(), absl::OkStatus());
    std::vector<std::int64_t> expected;
    for (int r = 0; r < size; ++r) {
      expected.insert(expected.end(),
                      static_cast<std::size_t>(2 * ((r + step) % 3)), r);
    }
    ASSERT_EQ(all->num_elements(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(all->shape()[1], 2);
    const std::int64_t* data = all->data<std::int64_t>();
    EXPECT_EQ(std::vector<std::int64_t>(data, data + all->num_elements()),
              expected);
  }
}

inline void broadcasts_from_every_root(Runtime& job) {
  const int rank = job.topology().rank();
  for (int root = 0; root < job.topology().size(); ++root) {
    double value = rank == root ? 42.5 + root : -1;
    const std::string name = "from " + std::to_string(root);
    const auto copy = job.broadcast_async(ConstTensorView::of(&value, {1}),
                                          root, {.name = name})
                          .wait();
    ASSERT_EQ(copy.status(), absl::OkStatus());
    EXPECT_EQ(copy->data<double>()[0], 42.5 + root);
    ASSERT_EQ(
        job.broadcast_async_(TensorView::of(&value, {1}), root, {.name = name})
            .wait(),
        absl::OkStatus());
    EXPECT_EQ(value, 42.5 + root);
  }
}

// Ranks submit 1,000 named tensors in different random orders.
inline void completes_a_thousand_tensors_in_any_order(Runtime& job) {
  constexpr int kTensors = 1000;
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  std::mt19937 random(static_cast<unsigned>(17 + rank));
  std::vector<std::vector<float>> tensors(kTensors);
  std::vector<int> order(kTensors);
  std::iota(order.begin(), order.end(), 0);
  for (int step = 0; step < 2; ++step) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Future<void>> done(kTensors);
    for (int i : order) {
      auto& tensor = tensors[static_cast<std::size_t>(i)];
      tensor.assign(static_cast<std::size_t>(1 + i % 37),
                    static_cast<float>(i + rank));
      done[static_cast<std::size_t>(i)] = job.allreduce_async_(
          TensorView::of(tensor.data(), {1 + i % 37}),
          {.name = "t" + std::to_string(i), .op = ReduceOp::kSum});
    }
    for (int i = 0; i < kTensors; ++i) {
      ASSERT_EQ(done[static_cast<std::size_t>(i)].wait(), absl::OkStatus());
      const float expected =
          static_cast<float>(size * i + size * (size - 1) / 2);
      for (float value : tensors[static_cast<std::size_t>(i)])
        ASSERT_EQ(value, expected);
    }
  }
}

// All ranks get the same error, which names two ranks and their values; the job
// goes on afterwards, under the same name.
inline void mismatches_fail_everywhere_and_the_job_goes_on(Runtime& job) {
  const int rank = job.topology().rank();
  const int odd = job.topology().size() - 1;
  if (odd == 0) return;
  const bool is_odd = rank == odd;
  const std::string sent_by_odd = "rank " + std::to_string(odd) + " sent ";
  std::vector<float> floats(16, 1);
  std::vector<std::int32_t> ints(16, 1);
  const TensorView four = TensorView::of(floats.data(), {4});

  const auto expect = [&](const absl::Status& status, const std::string& first,
                          const std::string& other) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(text_of(status),
                ::testing::HasSubstr("'m': rank 0 sent " + first));
    EXPECT_THAT(text_of(status), ::testing::HasSubstr(sent_by_odd + other));
  };
  for (int round = 0; round < 2; ++round) {
    // The second time the name has an id.
    expect(
        job.allreduce_async_(is_odd ? TensorView::of(floats.data(), {5}) : four,
                             {.name = "m"})
            .wait(),
        "float32[4]", "float32[5]");
    expect(
        job.allreduce_async_(is_odd ? TensorView::of(ints.data(), {4}) : four,
                             {.name = "m"})
            .wait(),
        "float32[4]", "int32[4]");
    expect(job.allreduce_async_(
                  four,
                  {.name = "m", .op = is_odd ? ReduceOp::kMax : ReduceOp::kSum})
               .wait(),
           "op sum", "op max");
    expect(job.allreduce_async_(
                  four, {.name = "m", .prescale_factor = is_odd ? 0.25 : 1})
               .wait(),
           "prescale 1", "prescale 0.25");
    expect(job.broadcast_async_(four, is_odd ? odd : 0, {.name = "m"}).wait(),
           "root 0", "root " + std::to_string(odd));
    expect((is_odd ? job.broadcast_async_(four, 0, {.name = "m"})
                   : job.allreduce_async_(four, {.name = "m"}))
               .wait(),
           "allreduce", "broadcast");
    EXPECT_EQ(job.allreduce_async_(four, {.name = "m"}).wait(),
              absl::OkStatus());
  }
}

inline void a_name_in_flight_is_refused_here_and_now(Runtime& job) {
  float value = 1;
  const TensorView view = TensorView::of(&value, {});
  Future<void> first;
  if (job.topology().rank() == 0) {
    first = job.allreduce_async_(view, {.name = "twice", .op = ReduceOp::kSum});
    if (job.topology().size() > 1) {
      float other = 1;
      const absl::Status refused =
          job.allreduce_async_(TensorView::of(&other, {}), {.name = "twice"})
              .wait();
      EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
      EXPECT_THAT(text_of(refused), ::testing::HasSubstr("'twice'"));
    }
  }
  ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  if (job.topology().rank() != 0) {
    first = job.allreduce_async_(view, {.name = "twice", .op = ReduceOp::kSum});
  }
  EXPECT_EQ(first.wait(), absl::OkStatus());
  EXPECT_EQ(value, static_cast<float>(job.topology().size()));
}

inline void unnamed_calls_match_in_call_order(Runtime& job) {
  for (int i = 0; i < 20; ++i) {
    float value = static_cast<float>(i);
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&value, {1})).wait(),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(i));
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  }
}

inline void arguments_without_meaning_are_refused(Runtime& job) {
  float value = 0;
  bool flag = true;
  const auto refused = [](const absl::Status& status) {
    return absl::IsInvalidArgument(status) && !status.message().empty();
  };
  EXPECT_TRUE(
      refused(job.allreduce_async_(TensorView(nullptr, DType::kF32, Shape({3})),
                                   {.name = "n"})
                  .wait()));
  EXPECT_TRUE(
      refused(job.allreduce_async_(TensorView(&value, DType::kF32, Shape({-1})),
                                   {.name = "n"})
                  .wait()));
  EXPECT_TRUE(refused(
      job.allreduce_async_(TensorView::of(&flag, {}), {.name = "b"}).wait()));
  EXPECT_TRUE(refused(job.broadcast_async_(TensorView::of(&value, {}),
                                           job.topology().size(), {.name = "r"})
                          .wait()));
  EXPECT_TRUE(refused(
      job.allgather_async(ConstTensorView::of(&value, {}), {.name = "s"})
          .wait()
          .status()));
  EXPECT_TRUE(absl::IsUnimplemented(
      job.allreduce_async_(
             TensorView(&value, DType::kF32, Shape({1}), Device::cuda(0)),
             {.name = "c"})
          .wait()));
}

inline void nothing_is_lost_over_many_steps(Runtime& job) {
  for (int step = 0; step < 200; ++step) {
    std::vector<float> a(3, static_cast<float>(step));
    std::vector<float> b(5000, static_cast<float>(job.topology().rank()));
    Future<void> first =
        job.allreduce_async_(TensorView::of(a.data(), {3}), {.name = "a"});
    Future<void> second = job.allreduce_async_(
        TensorView::of(b.data(), {5000}), {.name = "b", .op = ReduceOp::kMax});
    ASSERT_EQ(second.wait(), absl::OkStatus());
    ASSERT_EQ(first.wait(), absl::OkStatus());
    ASSERT_EQ(a[2], static_cast<float>(step));
    ASSERT_EQ(b[4999], static_cast<float>(job.topology().size() - 1));
  }
}

struct Case {
  const char* name;
  void (*run)(Runtime& job);

  friend void PrintTo(const Case& what, std::ostream* out) {
    *out << what.name;
  }
};

inline constexpr Case kCases[] = {
    {"ReducesInPlaceAndOutOfPlace", reduces_in_place_and_out_of_place},
    {"ReducesEveryOp", reduces_every_op},
    {"GathersUnevenRows", gathers_uneven_rows},
    {"BroadcastsFromEveryRoot", broadcasts_from_every_root},
    {"CompletesAThousandTensorsInAnyOrder",
     completes_a_thousand_tensors_in_any_order},
    {"MismatchesFailEverywhereAndTheJobGoesOn",
     mismatches_fail_everywhere_and_the_job_goes_on},
    {"ANameInFlightIsRefusedHereAndNow",
     a_name_in_flight_is_refused_here_and_now},
    {"UnnamedCallsMatchInCallOrder", unnamed_calls_match_in_call_order},
    {"ArgumentsWithoutMeaningAreRefused",
     arguments_without_meaning_are_refused},
    {"NothingIsLostOverManySteps", nothing_is_lost_over_many_steps}};

}  // namespace hvd::suite
