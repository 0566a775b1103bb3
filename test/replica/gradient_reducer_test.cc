// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/replica/broadcast.h"
#include "test/runtime/world.h"
#include "test/support/expect_error.h"

namespace hvd::replica {
namespace {

using ::testing::HasSubstr;
using transport::LoopbackWorld;

TEST(GradientReducer, TurnsGradientsIntoTheirMeansInAnyOrder) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    GradientReducer reducer(job);
    for (int step = 0; step < 3; ++step) {
      std::vector<std::vector<float>> gradients(
          4, std::vector<float>(10, static_cast<float>(rank)));
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const std::size_t mine =
            (i + static_cast<std::size_t>(rank)) % gradients.size();
        reducer.add(std::to_string(mine),
                    TensorView::of(gradients[mine].data(), {10}));
        EXPECT_TRUE(reducer.has(std::to_string(mine)));
      }
      EXPECT_TRUE(reducer.is_pending());
      reducer.finish();
      EXPECT_FALSE(reducer.is_pending());
      EXPECT_FALSE(reducer.has("0"));
      for (const auto& gradient : gradients) EXPECT_EQ(gradient[9], 1.0f);
    }
  });
}

TEST(GradientReducer, RefusesAGradientThatIsHandedOverTwice) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job);
    float value = 1;
    reducer.add("w", TensorView::of(&value, {}));
    const Status status =
        error_of([&] { reducer.add("w", TensorView::of(&value, {})); });
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("'w' was handed over twice"));
    reducer.finish();
  });
}

TEST(GradientReducer, HoldsGradientsUntilABucketIsFull) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const auto rank = static_cast<float>(job.topology().rank());
    GradientReducer reducer(job, {.bucket_bytes = 40});
    for (std::uint64_t step = 0; step < 3; ++step) {
      std::vector<float> gradients(3 * 5, rank);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(reducer.stats().gradients, 3 * step + (i < 2 ? 0 : 2));
        reducer.add(std::to_string(i),
                    TensorView::of(gradients.data() + 5 * i, {5}));
        EXPECT_TRUE(reducer.has(std::to_string(i)));
      }
      EXPECT_TRUE(reducer.is_pending());
      EXPECT_EQ(reducer.stats().gradients, 3 * step + 2);
      reducer.finish();
      EXPECT_EQ(reducer.stats().gradients, 3 * step + 3);
      EXPECT_EQ(gradients, std::vector<float>(3 * 5, 0.5f));
    }
  });
}

TEST(GradientReducer, SendsHeldGradientsBeforeADiscard) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    GradientReducer reducer(
        job,
        {.bucket_bytes = rank == 0 ? std::size_t{0} : std::size_t{1} << 20});
    auto value = static_cast<float>(rank);
    reducer.add("w", TensorView::of(&value, {}));
    reducer.discard();
    EXPECT_FALSE(reducer.is_pending());
    EXPECT_EQ(value, 0.5f);
    reducer.add("w", TensorView::of(&value, {}));
    reducer.finish();
    EXPECT_EQ(value, 0.5f);
  });
}

TEST(GradientReducer, CountsTheContributionsOfAStep) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job);
    reducer.expect("w", 3);
    for (int step = 0; step < 2; ++step) {
      float value = static_cast<float>(job.topology().rank());
      EXPECT_EQ(reducer.owed("w"), 3);
      EXPECT_FALSE(reducer.contribute("w"));
      EXPECT_FALSE(reducer.contribute("w"));
      EXPECT_EQ(reducer.owed("w"), 1);
      EXPECT_TRUE(reducer.contribute("w"));
      EXPECT_EQ(reducer.owed("w"), 0);
      reducer.add("w", TensorView::of(&value, {}));
      const Status status = error_of([&] { reducer.contribute("w"); });
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(status.message(),
                  HasSubstr("'w' has had 3 contributions in this step, was "
                            "added and gets one more, where 3 were"));
      reducer.finish();
      EXPECT_EQ(value, 0.5f);
    }
    // An unexpected key owes one contribution; a key added early owes none.
    float value = 1;
    EXPECT_EQ(reducer.owed("v"), 1);
    EXPECT_TRUE(reducer.contribute("v"));
    EXPECT_FALSE(reducer.contribute("w"));
    reducer.add("w", TensorView::of(&value, {}));
    EXPECT_EQ(reducer.owed("w"), 0);
    EXPECT_THROW(reducer.contribute("w"), Error);
    reducer.finish();
    EXPECT_EQ(reducer.owed("v"), 1);
    EXPECT_EQ(reducer.owed("w"), 3);
    EXPECT_THROW(reducer.expect("w", 0), Error);
  });
}

TEST(GradientReducer, TakesSlotsLikeKeys) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job);
    const GradientSlot w = reducer.expect("w", 2);
    for (int step = 0; step < 2; ++step) {
      float value = static_cast<float>(job.topology().rank());
      EXPECT_FALSE(reducer.contribute(w));
      EXPECT_EQ(reducer.owed("w"), 1);
      EXPECT_TRUE(reducer.contribute("w"));
      EXPECT_EQ(reducer.owed(w), 0);
      reducer.add(w, TensorView::of(&value, {}));
      EXPECT_TRUE(reducer.has(w) && reducer.has("w"));
      EXPECT_THROW(reducer.add("w", TensorView::of(&value, {})), Error);
      reducer.finish();
      EXPECT_EQ(value, 0.5f);
    }
    // The same slot, with another number of contributions.
    reducer.expect("w", 1);
    EXPECT_TRUE(reducer.contribute(w));
  });
}

// Rank 0's gradient stays in place, and a handle reduces it from the second
// step on. Rank 1's moves in every third step.
TEST(GradientReducer, ReducesGradientsThatStayAndThatMove) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    GradientReducer reducer(job);
    std::vector<float> places(3);
    std::int64_t elements = 1;
    for (int step = 0; step < 12; ++step) {
      // The gradient at this place may change its size.
      if (step == 9) elements = 2;
      float* const place = &places[rank == 0 ? 0 : (step / 3) % 2];
      place[0] = place[1] = static_cast<float>(step + 2 * rank);
      reducer.add("w", TensorView::of(place, {elements}));
      reducer.finish();
      EXPECT_EQ(place[0], static_cast<float>(step + 1));
      EXPECT_EQ(place[1], elements == 2 ? place[0] : float(step + 2 * rank));
    }
  });
}

TEST(GradientReducer, ReportsAFailureOfAGradientInPlace) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    GradientReducer reducer(job);
    std::vector<float> place(2);
    for (int step = 0; step < 6; ++step) {
      const bool differ = step == 3;
      reducer.add("w", TensorView::of(place.data(), {differ ? 1 + rank : 1}));
      if (!differ) {
        reducer.finish();
        continue;
      }
      const Status status = error_of([&] { reducer.finish(); });
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(status.message(), HasSubstr("gradient of 'w'"));
    }
  });
}

TEST(GradientReducer, SendsAGroupWithItsLastMember) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.gradient_predivide_factor = 2,
                                  .scale = 0.5,
                                  .groups = {{"a", "b"}, {"c", "d"}}});
    for (int step = 0; step < 3; ++step) {
      const auto rank = static_cast<float>(job.topology().rank());
      std::vector<float> values(5, 2 * rank);
      const auto add = [&](const std::string& key, std::size_t i) {
        reducer.add(key, TensorView::of(&values[i], {1}));
      };
      const std::uint64_t before = reducer.stats().gradients;
      add("b", 0);
      EXPECT_TRUE(reducer.has("b"));
      EXPECT_EQ(reducer.stats().gradients, before);
      add("e", 1);
      EXPECT_EQ(reducer.stats().gradients, before + 1);
      add("a", 2);
      EXPECT_EQ(reducer.stats().gradients, before + 3);
      add("d", 3);
      EXPECT_EQ(reducer.stats().gradients, before + 3);
      reducer.finish();  // Without c.
      EXPECT_EQ(reducer.stats().gradients, before + 4);
      EXPECT_EQ(values, (std::vector<float>{1, 1, 1, 1, 2 * rank}));
    }
    EXPECT_EQ(reducer.stats().bytes, 12 * sizeof(float));
  });
}

TEST(GradientReducer, DiscardsUnsentGradients) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.groups = {{"a", "b"}}});
    float a = 1;
    float b = 1;
    if (job.topology().rank() == 0) reducer.add("a", TensorView::of(&a, {1}));
    reducer.discard();
    EXPECT_FALSE(reducer.is_pending());
    a = static_cast<float>(job.topology().rank());
    reducer.add("a", TensorView::of(&a, {1}));
    reducer.add("b", TensorView::of(&b, {1}));
    reducer.finish();
    EXPECT_EQ(a, 0.5f);
  });
}

TEST(GradientReducer, AddsUpNumbersOfAllRanks) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.op = ReduceOp::kMax, .scale = 3});
    EXPECT_EQ(reducer.rank(), job.topology().rank());
    EXPECT_EQ(reducer.num_ranks(), 3);
    EXPECT_EQ(reducer.sum("numbers", {1.0, 1.0 * reducer.rank()}),
              (std::vector<double>{3, 3}));
  });
}

TEST(GradientReducer, RefusesInvalidGroupsAndScales) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    EXPECT_THROW(GradientReducer(job, {.groups = {{"a"}, {"b", "a"}}}), Error);
    EXPECT_THROW(GradientReducer(job, {.scale = 0}), Error);
  });
}

TEST(GradientReducer, ReturnsOwnedGradientsInOrder) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job);
    std::vector<std::shared_ptr<std::vector<float>>> gradients;
    for (const char* key : {"c", "a", "b"}) {
      gradients.push_back(std::make_shared<std::vector<float>>(3, 1.0f));
      reducer.add(key, TensorView::of(gradients.back()->data(), {3}),
                  gradients.back());
    }
    float borrowed = 1;
    reducer.add("d", TensorView::of(&borrowed, {}));
    const auto owners = reducer.finish();
    ASSERT_EQ(owners.size(), 4u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(owners[i], gradients[i]);
    EXPECT_EQ(owners[3], nullptr);
    EXPECT_TRUE(reducer.finish().empty());
  });
}

TEST(GradientReducer, ReducesTheGradientsInABuffer) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const float rank = static_cast<float>(job.topology().rank());
    GradientReducer reducer(job);
    for (int step = 0; step < 3; ++step) {
      std::vector<float> buffer(10, rank);
      const TensorView view = TensorView::of(buffer.data(), {2, 5});
      const std::vector<GradientPiece> all = {
          {"w", 0, 4}, {"none", 4, 0}, {"b", 4, 3}, {"c", 8, 2}};
      // Rank 1 adds the pieces one by one, from the last.
      if (rank == 0) {
        reducer.add(view, all);
      } else {
        for (std::size_t i = all.size(); i > 0; --i) {
          reducer.add(view, {all[i - 1]});
        }
      }
      EXPECT_TRUE(reducer.has("b"));
      reducer.finish();
      std::vector<float> expected(10, 0.5f);
      expected[7] = rank;  // Lies between pieces.
      EXPECT_EQ(buffer, expected);
    }
  });
}

TEST(GradientReducer, RefusesABufferThatIsCutWrongly) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    std::vector<float> buffer(10, 1);
    const TensorView view = TensorView::of(buffer.data(), {10});
    GradientReducer reducer(job);
    const auto expect_refused = [&](const std::vector<GradientPiece>& pieces,
                                    const std::string& why) {
      EXPECT_ERROR(Error, why, reducer.add(view, pieces));
      EXPECT_FALSE(reducer.is_pending());
    };
    expect_refused({{"a", 0, 4}, {"b", 8, 3}},
                   "'b', 3 elements from 8 on, does not lie within its 10");
    expect_refused({{"a", -1, 2}}, "does not lie within");
    expect_refused({{"a", 0, -1}}, "does not lie within");
    expect_refused({{"a", 11, 0}}, "does not lie within");
    expect_refused({{"a", std::numeric_limits<std::int64_t>::max(), 1}},
                   "does not lie within");
    expect_refused({{"a", 5, 2}, {"b", 0, 6}},
                   "'a', 2 elements from 5 on, shares");
    expect_refused({{"a", 0, 2}, {"a", 4, 2}}, "has the key of another");
    reducer.add("b", view);
    EXPECT_THROW(reducer.add(view, {{"a", 0, 1}, {"b", 1, 1}}), Error);
    EXPECT_FALSE(reducer.has("a"));
    reducer.finish();
  });
}

TEST(GradientReducer, PredivisionKeepsTheMeanAndAvoidsOverflow) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.gradient_predivide_factor = 2.0});
    float value = std::numeric_limits<float>::max();
    reducer.add("w", TensorView::of(&value, {}));
    float other = static_cast<float>(job.topology().rank());
    reducer.add("v", TensorView::of(&other, {}));
    reducer.finish();
    EXPECT_EQ(value, std::numeric_limits<float>::max());
    EXPECT_EQ(other, 0.5f);
  });
}

TEST(GradientReducer, RefusesAnInvalidPredivision) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    EXPECT_THROW(GradientReducer(job, {.gradient_predivide_factor = 0}), Error);
    EXPECT_THROW(GradientReducer(job, {.op = ReduceOp::kSum,
                                       .gradient_predivide_factor = 2}),
                 Error);
  });
}

TEST(GradientReducer, NamesAMismatchedGradientAndServesTheNextStep) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job);
    std::vector<float> values(4, 1);
    float fine = static_cast<float>(job.topology().rank());
    reducer.add("fine", TensorView::of(&fine, {}));
    reducer.add("odd",
                TensorView::of(values.data(), {2 + job.topology().rank()}));
    const Status status = error_of([&] { reducer.finish(); });
    EXPECT_THAT(status.message(), HasSubstr("gradient of 'odd'"));
    EXPECT_THAT(status.message(),
                HasSubstr("float32[2], rank 1 sent float32[3]"));
    EXPECT_EQ(fine, 0.5f);
    reducer.add("odd", TensorView::of(values.data(), {4}));
    reducer.finish();
  });
}

TEST(GradientReducer, OfAProcessSetAveragesOverItsRanksAlone) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    const auto set = job.add_process_set_async({0, 2}).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    if (rank == 1) {
      const Status status = error_of(
          [&] { GradientReducer(job, {.name = "pair", .process_set = *set}); });
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(status.message(), HasSubstr("process set 1 [0, 2]"));
    } else {
      GradientReducer reducer(job, {.process_set = *set});
      float value = static_cast<float>(rank);
      reducer.add("w", TensorView::of(&value, {}));
      reducer.finish();
      EXPECT_EQ(value, 1.0f);  // (0 + 2) / 2
    }
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}

TEST(GradientReducer, ItsEndWaitsForBorrowedGradients) {
  std::latch added(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const bool throws = job.topology().rank() == 0;
    if (!throws) added.wait();
    std::vector<float> gradient(1000,
                                static_cast<float>(job.topology().rank()));
    try {
      GradientReducer reducer(job);
      reducer.add("w", TensorView::of(gradient.data(), {1000}));
      if (throws) {
        added.count_down();
        throw std::runtime_error("no more data");
      }
      reducer.finish();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "no more data");
    }
    EXPECT_EQ(gradient[999], 0.5f);
  });
}

TEST(GradientReducer, ItsEndWaitsForPreparedCalls) {
  std::latch is_under_way(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    float value = 0;
    auto reducer = std::make_unique<GradientReducer>(job);
    for (int step = 0; step < 3; ++step) {
      reducer->add("w", TensorView::of(&value, {}));
      reducer->finish();
    }
    value = static_cast<float>(2 * rank);
    if (rank == 1) is_under_way.wait();
    reducer->add("w", TensorView::of(&value, {}));
    if (rank == 0) is_under_way.count_down();
    reducer.reset();
    EXPECT_EQ(value, 1.0f);
  });
}

TEST(GradientReducer, AGradientWithAnOwnerMayBeReleased) {
  std::latch freed(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const bool frees = job.topology().rank() == 0;
    if (!frees) freed.wait();
    auto gradient = std::make_shared<std::vector<float>>(1000, 1.0f);
    const std::weak_ptr<std::vector<float>> lives = gradient;
    {
      GradientReducer reducer(job);
      const TensorView view = TensorView::of(gradient->data(), {1000});
      reducer.add("w", view, std::move(gradient));
      if (!frees) reducer.finish();
    }
    if (frees) {
      EXPECT_FALSE(lives.expired());
      freed.count_down();
    }
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(lives.expired());
  });
}

TEST(GradientReducer, ReportsTheEndOfItsJob) {
  std::unique_ptr<GradientReducer> reducer;
  std::vector<float> gradient(10, 1);
  const auto refused = [&] {
    try {
      reducer->add("v", TensorView::of(gradient.data(), {10}));
    } catch (const Error& error) {
      EXPECT_TRUE(absl::IsFailedPrecondition(error.status()));
      EXPECT_THAT(error.what(), HasSubstr("a reducer of gradients, "
                                          "'gradient': this rank has left"));
      return absl::IsFailedPrecondition(reducer->job().status());
    }
    return false;
  };
  run_world({.size = 1}, [&](Runtime& job, LoopbackWorld&) {
    reducer = std::make_unique<GradientReducer>(job);
    EXPECT_EQ(reducer->job().status(), absl::OkStatus());
    reducer->add("w", TensorView::of(gradient.data(), {10}));
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(refused());
    EXPECT_THROW(GradientReducer another(job), Error);
  });
  EXPECT_TRUE(refused());
  EXPECT_FALSE(reducer->has("v"));
  reducer->finish();  // Reduced before the job's end.
}

TEST(GradientReducer, RefusesAnUnknownOp) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    EXPECT_THROW(GradientReducer(job, {.op = static_cast<ReduceOp>(77)}),
                 Error);
    EXPECT_THROW(GradientReducer(job, {.gradient_predivide_factor = 1e-310}),
                 Error);
  });
}

TEST(Broadcast, RefusesDuplicateNamesOnEveryRankBeforeSending) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    std::vector<float> values(3, static_cast<float>(job.topology().rank()));
    const auto view = [&](std::size_t i) {
      return TensorView::of(&values[i], {});
    };
    const Status status = error_of([&] {
      broadcast(job, {{"a", view(0)}, {"b", view(1)}, {"a", view(2)}}, 1);
    });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(),
                HasSubstr("broadcast: two tensors are named 'a'"));
    EXPECT_EQ(values,
              std::vector<float>(3, static_cast<float>(job.topology().rank())));
    broadcast(job, {{"a", view(0)}, {"b", view(1)}}, 1);
    EXPECT_EQ(values[1], 1.0f);
  });
}

TEST(Broadcast, InAProcessSetLeavesTheOtherRanksAlone) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    const auto set = job.add_process_set_async({1, 2}).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    float value = static_cast<float>(rank);
    const auto give = [&] {
      broadcast(job, {{"a", TensorView::of(&value, {})}}, 2,
                {.name = "state", .process_set = *set});
    };
    if (rank == 0) {
      EXPECT_THROW(give(), Error);
    } else {
      give();
    }
    EXPECT_EQ(value, rank == 0 ? 0.0f : 2.0f);
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}

TEST(Broadcast, GivesEveryRankTheTensorsOfOne) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    std::vector<float> a(5, static_cast<float>(rank));
    std::vector<std::int64_t> b(2, rank);
    broadcast(job,
              {{"a", TensorView::of(a.data(), {5})},
               {"b", TensorView::of(b.data(), {2})}},
              2);
    EXPECT_EQ(a, std::vector<float>(5, 2));
    EXPECT_EQ(b, std::vector<std::int64_t>(2, 2));
    EXPECT_THROW(broadcast(job, {{"a", TensorView::of(a.data(), {5})}}, 7),
                 Error);
  });
}

}  // namespace
}  // namespace hvd::replica
