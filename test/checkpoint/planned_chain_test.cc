// SPDX-License-Identifier: Apache-2.0
// Item 204 of the contract.
#include "horovodpp/checkpoint/planned_chain.h"

#include <limits>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

constexpr std::int64_t kRows = 256, kColumns = 64;

struct Model {
  explicit Model(int stages) {
    for (int i = 0; i < stages; ++i) {
      weights.push_back(randn({kColumns, kColumns}, {.requires_grad = true}));
      weights.back().data<float>()[0] *= 0.1f;
      functions.push_back([this, i](const Tensor& in) {
        ++runs;
        return tanh(matmul(sin(in), weights[static_cast<std::size_t>(i)]));
      });
    }
  }
  std::vector<std::vector<float>> gradients(const std::function<Tensor()>& f) {
    for (Tensor& w : weights) w.set_grad({});
    x.set_grad({});
    runs = 0;
    f().sum().backward();
    std::vector<std::vector<float>> result{x.grad().to_vector<float>()};
    for (Tensor& w : weights) result.push_back(w.grad().to_vector<float>());
    return result;
  }

  Tensor x = randn({kRows, kColumns}, {.requires_grad = true});
  std::vector<Tensor> weights;
  std::vector<ChainFunction> functions;
  int runs = 0;
};

TEST(PlannedChain, KeepsToItsBudgetAndGivesTheSameGradients) {
  Model model(10);
  const auto plain = model.gradients(
      [&] { return checkpoint_sequential(model.functions, 1, model.x); });
  PlannedChain chain(model.functions);
  double seconds_before = std::numeric_limits<double>::infinity();
  for (const double fraction : {0.4, 0.5, 0.7, 0.9, 1.0}) {
    const ChainBudget budget{.fraction = fraction};
    const CheckpointPlan plan = chain.plan_for(model.x, budget);
    // The budget excludes gradients of parameters: they already exist.
    EXPECT_EQ(model.gradients([&] {
      return checkpoint_sequential(model.functions, 1, model.x);
    }),
              plain);
    autograd::cpu_allocator().reset_peak();
    const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
    model.runs = 0;
    checkpoint_sequential(chain, budget, model.x).sum().backward();
    const std::int64_t used =
        autograd::cpu_allocator().stats().peak_bytes - before;
    const PlanCost planned = cost_of(plan, chain.cost_for(model.x));
    // Accumulating into an existing gradient takes one more tensor of that
    // size; the sum and its gradient take one number each.
    const std::int64_t more = kColumns * kColumns * 4 + 64;
    EXPECT_LE(used, planned.peak_bytes + more) << plan.to_string();
    int expected_runs = 0;
    for (const int n : plan.forward_runs()) expected_runs += n;
    EXPECT_EQ(model.runs, expected_runs);
    // The number of runs may grow: a plan may skip one run of a slow stage and
    // repeat several fast ones. Measurements may be inexact, too.
    EXPECT_LE(planned.seconds, seconds_before * (1 + 1e-5)) << plan.to_string();
    seconds_before = planned.seconds;
  }
  EXPECT_EQ(model.runs, 10);
}

TEST(PlannedChain, MeasuresOncePerShape) {
  Model model(4);
  PlannedChain chain(model.functions, {.repetitions = 2});
  chain.cost_for(model.x);
  const int measured = model.runs;
  EXPECT_EQ(measured, 8);
  chain.plan_for(model.x, {.fraction = 1.0});
  chain.plan_for(model.x.detach().set_requires_grad(true), {.fraction = 0.9});
  EXPECT_EQ(model.runs, measured);
  chain.cost_for(ones({2, kColumns}));
  EXPECT_EQ(model.runs, 2 * measured);
}

TEST(PlannedChain, MeasuringLeavesNoTrace) {
  Model model(3);
  manual_seed(9);
  const auto state = autograd::default_generator().state();
  int heard = 0;
  model.weights[0].register_post_accumulate_grad_hook(
      [&](const Tensor&) { ++heard; });
  model.functions.push_back([](const Tensor& in) { return dropout(in, 0.5); });
  const ChainCost cost = profile_chain(model.functions, model.x);
  EXPECT_EQ(autograd::default_generator().state(), state);
  EXPECT_EQ(heard, 0);
  EXPECT_FALSE(model.weights[0].grad().defined());
  EXPECT_FALSE(model.x.grad().defined());
  ASSERT_EQ(cost.stages.size(), 4u);
  const std::int64_t tensor = kRows * kColumns * 4;
  EXPECT_EQ(cost.input_bytes, tensor);
  // sin keeps its input, the previous stage's output; matmul keeps the result
  // of sin; tanh keeps its result, the output.
  EXPECT_EQ(cost.stages[1].options[0].bytes, 2 * tensor);
  EXPECT_EQ(cost.stages[1].output_bytes, tensor);
  EXPECT_GT(cost.stages[1].forward_seconds, 0.0);
  EXPECT_GT(cost.stages[1].backward_seconds, 0.0);
}

TEST(PlannedChain, MeasuringKeepsRetainedGradients) {
  Model model(2);
  const Tensor scale = exp(ones({kColumns}, {.requires_grad = true}));
  scale.retain_grad();
  model.functions.push_back([scale](const Tensor& in) { return in * scale; });
  profile_chain(model.functions, model.x);
  EXPECT_FALSE(scale.grad().defined());
  (scale * 2.0).sum().backward({}, {.retain_graph = true});
  const auto before = scale.grad().to_vector<float>();
  profile_chain(model.functions, model.x);
  EXPECT_EQ(scale.grad().to_vector<float>(), before);
}

// Item 204, with several ways to keep.
TEST(PlannedChain, MeasuringKeepsTheGraphsOfCapturedTensors) {
  const Tensor w = randn({4, 4}, {.requires_grad = true});
  const Tensor square = mul(w, w);
  PlannedChain chain({[&](const Tensor& x) { return x * square + w; }},
                     {.repetitions = 1});
  chain.cost_for(randn({4, 4}));
  EXPECT_NO_THROW(square.sum().backward());
}

TEST(PlannedChain, MeasuresStagesWithInputsThatRequireGradWhereTheyDo) {
  const Tensor w = randn({4, 4}, {.requires_grad = true});
  std::vector<bool> seen;
  const auto noting = [&](auto f) {
    return [&seen, f](const Tensor& x) {
      seen.push_back(x.requires_grad());
      return f(x);
    };
  };
  PlannedChain chain(
      {noting([](const Tensor& x) { return sin(x); }),
       noting([w](const Tensor& x) { return matmul(sin(x), w); }),
       noting([](const Tensor& x) { return sin(x); })},
      {.repetitions = 1});
  chain.cost_for(randn({4, 4}));
  EXPECT_EQ(seen, (std::vector<bool>{false, false, true}));
}

TEST(PlannedChain, MeasuresEachWayOfAStageAndRunsTheOneOfThePlan) {
  Model model(6);
  std::vector<ChainStage> stages;
  int lean_runs = 0;
  for (const ChainFunction& function : model.functions) {
    const auto i = stages.size();
    // The lean way recomputes matmul's input, the result of sin; tanh
    // recomputes none.
    stages.push_back({function, {[&, i](const Tensor& in) {
                        ++lean_runs;
                        return tanh(checkpoint(
                            [w = model.weights[i]](const Tensor& x) {
                              return matmul(sin(x), w);
                            },
                            in));
                      }}});
  }
  const auto plain = model.gradients(
      [&] { return checkpoint_sequential(model.functions, 1, model.x); });
  auto chain = PlannedChain::of_stages(stages);
  const std::int64_t tensor = kRows * kColumns * 4;
  const StageCost& stage = chain.cost_for(model.x).stages[1];
  ASSERT_EQ(stage.options.size(), 2u);
  EXPECT_EQ(stage.options[0].bytes, 2 * tensor);
  EXPECT_EQ(stage.options[1].bytes, tensor);
  EXPECT_GE(stage.options[1].extra_transient_bytes, tensor);
  lean_runs = 0;
  const auto plan = CheckpointPlan::parse("0:1 (1 2:1 (3:1) 4) 5");
  EXPECT_EQ(model.gradients(
                [&] { return checkpoint_sequential(stages, plan, model.x); }),
            plain);
  EXPECT_EQ(lean_runs, 6);
}

TEST(PlannedChain, RefusesOptionsThatAStageDoesNotHave) {
  const Model model(2);
  EXPECT_ERROR(InvalidArgument, "option 1 of stage 1, which has options 0 to 0",
               checkpoint_sequential(
                   model.functions, CheckpointPlan::parse("(0 1:1)"), model.x));
  EXPECT_ERROR(
      InvalidArgument, "function 1 is empty",
      PlannedChain::of_stages(
          {{model.functions[0]}, {model.functions[1], {ChainFunction()}}}));
}

TEST(PlannedChain, RefusesInvalidBudgets) {
  Model model(4);
  PlannedChain chain(model.functions);
  EXPECT_ERROR(InvalidArgument, "either memory_budget",
               checkpoint_sequential(chain, {}, model.x));
  EXPECT_ERROR(InvalidArgument, "either memory_budget",
               checkpoint_sequential(
                   chain, {.memory_budget = 1, .fraction = 0.5}, model.x));
  EXPECT_ERROR(InvalidArgument, "above 0",
               checkpoint_sequential(chain, {.fraction = -1.0}, model.x));
  EXPECT_ERROR(Error, "the least that is needed",
               checkpoint_sequential(chain, {.memory_budget = 1000}, model.x));
  EXPECT_ERROR(InvalidArgument, "no functions", PlannedChain({}));
  EXPECT_ERROR(InvalidArgument, "function 0 is empty", PlannedChain({nullptr}));
  NoGrad no_grad;
  EXPECT_NO_THROW(
      checkpoint_sequential(chain, {.memory_budget = 1}, model.x).sum());
}

}  // namespace
}  // namespace hvd
