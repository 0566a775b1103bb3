// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "horovodpp/autograd/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/core/status.h"

namespace hvd {
namespace {

using Part = CheckpointPlan::Part;
using testing::HasSubstr;

ChainCost random_chain(std::mt19937& random, std::size_t stages,
                       std::size_t options = 1) {
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  ChainCost chain{.input_bytes = number(1, 9), .stages = {}};
  for (std::size_t i = 0; i < stages; ++i) {
    StageCost stage{.forward_seconds = number(1, 9) * 1.0,
                    .backward_seconds = number(1, 9) * 1.0,
                    .output_bytes = number(1, 9),
                    .options = {},
                    .forward_transient_bytes = number(0, 4),
                    .backward_transient_bytes = number(0, 4)};
    std::int64_t kept = stage.output_bytes + number(0, 20);
    double extra = 0.0;
    for (std::size_t o = 0; o < options; ++o) {
      stage.options.push_back({kept, extra, o == 0 ? 0 : number(0, 4)});
      kept = std::max(stage.output_bytes, kept - number(1, 6));
      extra += number(1, 3);
    }
    chain.stages.push_back(stage);
  }
  return chain;
}

// All plans for first..last.
std::vector<std::vector<Part>> all_plans(const ChainCost& chain,
                                         std::size_t first, std::size_t last) {
  std::vector<std::vector<Part>> result;
  const auto followed = [&](const Part& part, std::size_t next) {
    if (next > last) {
      result.push_back({part});
      return;
    }
    for (std::vector<Part> rest : all_plans(chain, next, last)) {
      rest.insert(rest.begin(), part);
      result.push_back(std::move(rest));
    }
  };
  for (std::size_t o = 0; o < chain.stages[first].options.size(); ++o) {
    followed({.first = first, .last = first, .option = o}, first + 1);
  }
  // A region over the last stages would run them twice for nothing.
  for (std::size_t end = first + 1; end <= last; ++end) {
    for (const auto& inside : all_plans(chain, first, end - 1)) {
      followed({.first = first, .last = end - 1, .inside = inside}, end);
    }
  }
  return result;
}

std::string text_of(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    text += part.is_region() ? "(" + text_of(part.inside) + ") "
                             : std::to_string(part.first) + ":" +
                                   std::to_string(part.option) + " ";
  }
  return text;
}

// What every plan costs, found by trying all of them.
std::vector<PlanCost> costs_of_all(const ChainCost& chain) {
  std::vector<PlanCost> result;
  for (const auto& parts : all_plans(chain, 0, chain.stages.size() - 1)) {
    result.push_back(cost_of(CheckpointPlan::parse(text_of(parts)), chain));
  }
  return result;
}

double fastest_within(const std::vector<PlanCost>& costs, std::int64_t budget) {
  double best = std::numeric_limits<double>::infinity();
  for (const PlanCost& cost : costs) {
    if (cost.peak_bytes <= budget) best = std::min(best, cost.seconds);
  }
  return best;
}

// Item 204, and the section on schedules.
TEST(CheckpointPlan, IsTheBestThereIs) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const std::size_t stages = 2 + static_cast<std::size_t>(round % 4);
    const ChainCost chain = random_chain(random, stages, 1 + round % 2);
    const std::vector<PlanCost> all = costs_of_all(chain);
    const std::int64_t least = least_memory(chain);
    EXPECT_EQ(fastest_within(all, least - 1),
              std::numeric_limits<double>::infinity());
    const std::int64_t most =
        cost_of(CheckpointPlan::keep_all(stages), chain).peak_bytes;
    double before = std::numeric_limits<double>::infinity();
    for (std::int64_t budget = least; budget <= most; ++budget) {
      // One slot a byte: nothing is lost by rounding.
      const CheckpointPlan plan =
          plan_checkpoints(chain, budget, static_cast<std::size_t>(budget));
      const PlanCost cost = cost_of(plan, chain);
      EXPECT_LE(cost.peak_bytes, budget);
      EXPECT_EQ(cost.seconds, fastest_within(all, budget))
          << plan.to_string() << " with " << budget;
      EXPECT_LE(cost.seconds, before);
      before = cost.seconds;
    }
  }
}

// Item 204.
TEST(CheckpointPlan, KeepsToTheBudgetWhateverTheResolution) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const ChainCost chain = random_chain(random, 12, 2);
    const std::int64_t least = least_memory(chain);
    const std::int64_t most =
        cost_of(CheckpointPlan::keep_all(12), chain).peak_bytes;
    for (const std::int64_t budget : {least, (least + most) / 2, most}) {
      for (const std::size_t resolution : {1u, 7u, 50u, 500u}) {
        const CheckpointPlan plan = plan_checkpoints(chain, budget, resolution);
        EXPECT_LE(cost_of(plan, chain).peak_bytes, budget);
      }
    }
  }
}

TEST(CheckpointPlan, KeepsEverythingWhereThereIsRoom) {
  std::mt19937 random(3);
  const ChainCost chain = random_chain(random, 20);
  const CheckpointPlan all = CheckpointPlan::keep_all(20);
  EXPECT_EQ(plan_checkpoints(chain, cost_of(all, chain).peak_bytes), all);
  EXPECT_EQ(all.forward_runs(), std::vector<int>(20, 1));
}

TEST(CheckpointPlan, SaysTheLeastThatIsNeeded) {
  std::mt19937 random(4);
  const ChainCost chain = random_chain(random, 5);
  const std::int64_t least = least_memory(chain);
  EXPECT_NO_THROW(plan_checkpoints(chain, least));
  try {
    plan_checkpoints(chain, least - 1);
    ADD_FAILURE() << "threw nothing";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the least that is needed is " +
                                        std::to_string(least)));
  }
}

TEST(CheckpointPlan, IsATextAndBack) {
  for (const char* text :
       {"0", "0 1 2", "(0 1) 2", "(0 (1 2) 3) (4 5:1) 6", "((0) 1) 2:3"}) {
    EXPECT_EQ(CheckpointPlan::parse(text).to_string(), text);
  }
  const CheckpointPlan plan = CheckpointPlan::parse(" ( 0 (1 2)3 )4  5 ");
  EXPECT_EQ(plan.to_string(), "(0 (1 2) 3) 4 5");
  EXPECT_EQ(plan.stages(), 6u);
  EXPECT_EQ(plan.forward_runs(), (std::vector<int>{2, 3, 3, 2, 1, 1}));
}

TEST(CheckpointPlan, RefusesTextsThatAreNone) {
  for (const std::string text :
       {"", "1", "0 2", "0 0", "(", "()", "(0", "0)", "0:", "0:x", "a",
        "0 18446744073709551616", "-1"}) {
    EXPECT_THROW(CheckpointPlan::parse(text), InvalidArgument) << text;
  }
  EXPECT_THROW(CheckpointPlan::parse(std::string(100000, '(')),
               InvalidArgument);
}

TEST(CheckpointPlan, RefusesChainsThatMakeNoSense) {
  std::mt19937 random(5);
  EXPECT_THROW(plan_checkpoints({}, 100), InvalidArgument);
  const ChainCost good = random_chain(random, 3);
  EXPECT_THROW(plan_checkpoints(good, 100, 0), InvalidArgument);
  ChainCost bad = good;
  bad.stages[1].options.clear();
  EXPECT_THROW(plan_checkpoints(bad, 100), InvalidArgument);
  bad = good;
  bad.stages[2].forward_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(plan_checkpoints(bad, 100), InvalidArgument);
  bad = good;
  bad.stages[0].output_bytes = -1;
  EXPECT_THROW(least_memory(bad), InvalidArgument);
  EXPECT_THROW(cost_of(CheckpointPlan::keep_all(4), good), InvalidArgument);
}

}  // namespace
}  // namespace hvd
