// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plans/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "test/support/expect_error.h"

namespace hvd {
namespace {

using Part = CheckpointPlan::Part;

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
      stage.options.push_back(
          {.bytes = kept,
           .extra_seconds = extra,
           .tail_seconds = std::min(stage.forward_seconds, number(0, 3) * 1.0),
           .extra_transient_bytes = o == 0 ? 0 : number(0, 4)});
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
  // A region over the last stages would run them twice without benefit.
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

// The costs of all plans.
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
    if (cost.peak_bytes <= budget) best = std::min(best, cost.step_seconds);
  }
  return best;
}

// Item 204, and the section on schedules.
TEST(CheckpointPlan, IsOptimal) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const std::size_t stages = 2 + static_cast<std::size_t>(round % 4);
    ChainCost chain = random_chain(random, stages, 1 + round % 2);
    // A third of the chains do not communicate. A third communicate for less
    // time than they compute, and a third for more.
    for (StageCost& stage : chain.stages) {
      stage.communication_seconds =
          round % 3 == 0
              ? 0.0
              : static_cast<double>(random() % (round % 3 == 1 ? 5 : 40));
    }
    const std::vector<PlanCost> all = costs_of_all(chain);
    const std::int64_t least = least_memory(chain);
    EXPECT_EQ(fastest_within(all, least - 1),
              std::numeric_limits<double>::infinity());
    const std::int64_t most =
        cost_of(CheckpointPlan::keep_all(stages), chain).peak_bytes;
    double before = std::numeric_limits<double>::infinity();
    for (std::int64_t budget = least; budget <= most; ++budget) {
      // One slot per byte: rounding loses no memory.
      const CheckpointPlan plan =
          plan_checkpoints(chain, budget, static_cast<std::size_t>(most));
      const PlanCost cost = cost_of(plan, chain);
      EXPECT_LE(cost.peak_bytes, budget);
      EXPECT_EQ(cost.step_seconds, fastest_within(all, budget))
          << plan.to_string() << " with " << budget;
      EXPECT_LE(cost.step_seconds, before);
      before = cost.step_seconds;
    }
  }
}

// Item 204.
TEST(CheckpointPlan, KeepsToTheBudgetAtAnyResolution) {
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

// A recomputation skips the work of a region's last stage after its last saved
// tensor.
TEST(CheckpointPlan, RegionsStopEarly) {
  ChainCost chain{.input_bytes = 1, .stages = {}};
  for (int i = 0; i < 3; ++i) {
    chain.stages.push_back({.forward_seconds = 4.0,
                            .backward_seconds = 5.0,
                            .output_bytes = 1,
                            .options = {{.bytes = 10, .tail_seconds = 3.0}}});
  }
  const auto seconds = [&](const char* plan) {
    return cost_of(CheckpointPlan::parse(plan), chain).seconds;
  };
  EXPECT_EQ(seconds("0 1 2"), 27.0);
  EXPECT_EQ(seconds("(0 1) 2"), 27.0 + 4 + 1);
  EXPECT_EQ(seconds("(0) (1) 2"), 27.0 + 1 + 1);
  EXPECT_EQ(seconds("((0) 1) 2"), 27.0 + 4 + 1 + 1);
  EXPECT_EQ(plan_checkpoints(chain, 15).to_string(), "(0) (1) 2");
  chain.stages[1].options[0].tail_seconds = 4.5;
  EXPECT_THROW(seconds("0 1 2"), InvalidArgument);
}

// Coarse slots use up the memory, too.
TEST(CheckpointPlan, IsNotSlowedDownByRounding) {
  ChainCost chain{.input_bytes = 11, .stages = {}};
  for (int i = 0; i < 20; ++i) {
    chain.stages.push_back({.forward_seconds = 1.0,
                            .backward_seconds = 2.0,
                            .output_bytes = 11,
                            .options = {{.bytes = 101}}});
  }
  const std::int64_t most =
      cost_of(CheckpointPlan::keep_all(20), chain).peak_bytes;
  // A slot is ten bytes; the last slot of each stage holds one byte.
  const CheckpointPlan exact =
      plan_checkpoints(chain, most / 2, static_cast<std::size_t>(most));
  const CheckpointPlan coarse =
      plan_checkpoints(chain, most / 2, static_cast<std::size_t>(most / 10));
  EXPECT_EQ(cost_of(coarse, chain).seconds, cost_of(exact, chain).seconds);
}

// Item 204: more memory is never slower, for any slot size.
TEST(CheckpointPlan, IsNoSlowerWithMoreMemory) {
  std::mt19937 random(6);
  for (int round = 0; round < 12; ++round) {
    ChainCost chain = random_chain(random, 14, 2);
    if (round % 2 == 1) {
      for (StageCost& stage : chain.stages) {
        stage.communication_seconds = static_cast<double>(random() % 12);
      }
    }
    const std::int64_t most =
        cost_of(CheckpointPlan::keep_all(14), chain).peak_bytes;
    double before = std::numeric_limits<double>::infinity();
    for (std::int64_t budget = least_memory(chain); budget <= most; ++budget) {
      const double seconds =
          cost_of(plan_checkpoints(chain, budget, 40), chain).step_seconds;
      EXPECT_LE(seconds, before);
      before = seconds;
    }
  }
}

// Recomputation that overlaps the last stages' communication is free.
TEST(CheckpointPlan, HidesRecomputationBehindCommunication) {
  ChainCost chain{.input_bytes = 1, .stages = {}};
  for (int i = 0; i < 8; ++i) {
    chain.stages.push_back({.forward_seconds = 1.0,
                            .backward_seconds = 2.0,
                            .output_bytes = 1,
                            .options = {{.bytes = 10}},
                            .communication_seconds = 0.0});
  }
  chain.stages[7].communication_seconds = 30.0;
  const CheckpointPlan all = CheckpointPlan::keep_all(8);
  // Forward and the last backward, then communication.
  EXPECT_EQ(cost_of(all, chain).step_seconds, 8 + 2 + 30.0);
  const CheckpointPlan plan = plan_checkpoints(chain, 40);
  const PlanCost cost = cost_of(plan, chain);
  EXPECT_EQ(cost.step_seconds, 40.0) << plan.to_string();
  EXPECT_GT(cost.seconds, 24.0);
  // The plan with the least computation delays communication as long, or
  // longer.
  ChainCost alone = chain;
  alone.stages[7].communication_seconds = 0.0;
  const CheckpointPlan fastest = plan_checkpoints(alone, 40);
  EXPECT_LE(cost_of(fastest, chain).seconds, cost.seconds);
  EXPECT_GE(cost_of(fastest, chain).step_seconds, cost.step_seconds);
}

TEST(CheckpointPlan, IsSavedAndLoaded) {
  const std::string path = testing::TempDir() + "/plan.txt";
  const CheckpointPlan plan = CheckpointPlan::parse("(0 (1 2) 3) 4:1 5");
  plan.save(path);
  EXPECT_EQ(CheckpointPlan::load(path), plan);
  EXPECT_THROW(CheckpointPlan::load(path + ".none"), Error);
  EXPECT_THROW(plan.save(path + ".none/plan"), Error);
}

TEST(CheckpointPlan, IsDrawn) {
  std::mt19937 random(7);
  ChainCost chain = random_chain(random, 4);
  chain.stages[2].communication_seconds = 5.0;
  const std::string svg = draw(CheckpointPlan::parse("(0 1) 2 3"), chain);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (auto at = svg.find(part); at != svg.npos;
         at = svg.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  // In its row, and above its memory.
  EXPECT_EQ(count("stage 0 forward"), 2);
  EXPECT_EQ(count("stage 0 again"), 2);
  EXPECT_EQ(count("stage 2 again"), 0);
  EXPECT_EQ(count("stage 3 backward"), 2);
  EXPECT_EQ(count("stage 2 communication"), 1);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_THROW(draw(CheckpointPlan::keep_all(3), chain), InvalidArgument);
}

TEST(CheckpointPlan, KeepsAllTensorsIfTheyFit) {
  std::mt19937 random(3);
  const ChainCost chain = random_chain(random, 20);
  const CheckpointPlan all = CheckpointPlan::keep_all(20);
  EXPECT_EQ(plan_checkpoints(chain, cost_of(all, chain).peak_bytes), all);
  EXPECT_EQ(all.forward_runs(), std::vector<int>(20, 1));
}

TEST(CheckpointPlan, ReportsTheLeastMemory) {
  std::mt19937 random(4);
  const ChainCost chain = random_chain(random, 5);
  const std::int64_t least = least_memory(chain);
  EXPECT_NO_THROW(plan_checkpoints(chain, least));
  EXPECT_ERROR(Error, "the least that is needed is " + std::to_string(least),
               plan_checkpoints(chain, least - 1));
}

TEST(CheckpointPlan, ConvertsToTextAndBack) {
  for (const char* text :
       {"0", "0 1 2", "(0 1) 2", "(0 (1 2) 3) (4 5:1) 6", "((0) 1) 2:3"}) {
    EXPECT_EQ(CheckpointPlan::parse(text).to_string(), text);
  }
  const CheckpointPlan plan = CheckpointPlan::parse(" ( 0 (1 2)3 )4  5 ");
  EXPECT_EQ(plan.to_string(), "(0 (1 2) 3) 4 5");
  EXPECT_EQ(plan.stages(), 6u);
  EXPECT_EQ(plan.forward_runs(), (std::vector<int>{2, 3, 3, 2, 1, 1}));
}

TEST(CheckpointPlan, RefusesMalformedTexts) {
  for (const std::string text :
       {"", "1", "0 2", "0 0", "(", "()", "(0", "0)", "0:", "0:x", "a",
        "0 18446744073709551616", "-1"}) {
    EXPECT_THROW(CheckpointPlan::parse(text), InvalidArgument) << text;
  }
  EXPECT_THROW(CheckpointPlan::parse(std::string(100000, '(')),
               InvalidArgument);
}

TEST(CheckpointPlan, RefusesInvalidChains) {
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
