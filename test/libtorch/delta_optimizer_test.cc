// SPDX-License-Identifier: Apache-2.0
// A DeltaOptimizer combines the changes of the ranks' own steps.
#include "test/libtorch/checks.h"
#include "test/libtorch/model.h"

namespace {

namespace lt = hvd::libtorch;
using test::batch;
using test::loss_of;
using test::Model;
using test::of_this_rank;
using test::sgd_for;
using torch::Tensor;

constexpr int kDeltaSteps = 3;

void expect_same(const Model& model, const Model& other) {
  const std::vector<Tensor> ours = model->parameters();
  const std::vector<Tensor> wanted = other->parameters();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_CLOSE(ours[i], wanted[i], 1e-6);
    const Tensor mine = ours[i].detach().clone();
    EXPECT(torch::equal(mine, lt::broadcast_(mine.clone(), 0)));
  }
}

// SGD's steps are linear in the gradients.
TEST(TheMeanOfStepsIsTheStepOfTheMean) {
  for (const int passes : {1, 2}) {
    Model model, other;
    torch::optim::SGD plain = sgd_for(other);
    lt::DeltaOptions options;
    options.op = lt::ReduceOp::kAverage;
    options.backward_passes_per_step = passes;
    lt::DeltaOptimizer optimizer(sgd_for(model), model->named_parameters(),
                                 options);
    for (int step = 0; step < kDeltaSteps; ++step) {
      optimizer.zero_grad();
      for (const Tensor& rows : of_this_rank(batch(step)).chunk(passes)) {
        (loss_of(model->checkpointed(rows)) / passes).backward();
      }
      optimizer.step();
      plain.zero_grad();
      loss_of(other->plain(batch(step))).backward();
      plain.step();
    }
    expect_same(model, other);
  }
}

TEST(AdasumSumsOrthogonalAndAveragesParallelDeltas) {
  const int n = lt::size();
  Tensor apart = torch::zeros({n, 2}, torch::requires_grad());
  Tensor alike = torch::zeros({3}, torch::requires_grad());
  lt::DeltaOptimizer optimizer(
      torch::optim::SGD(std::vector<Tensor>{apart, alike}, 0.5));
  // Each rank uses its own row of `apart`; all use `alike`.
  (apart[lt::rank()].sum() + alike.sum()).backward();
  optimizer.step();
  EXPECT_CLOSE(apart, torch::full({n, 2}, -0.5), 1e-6);
  EXPECT_CLOSE(alike, torch::full({3}, -0.5), 1e-6);
}

TEST(AnOptimizerWithStateStepsEachParameterOnce) {
  Model model, other;
  torch::optim::AdamW plain(other->parameters(), 0.01);
  lt::DeltaOptimizer optimizer(torch::optim::AdamW(model->parameters(), 0.01),
                               model->named_parameters());
  for (int step = 0; step < kDeltaSteps; ++step) {
    optimizer.zero_grad();
    plain.zero_grad();
    // The same rows on all ranks.
    loss_of(model->plain(batch(step))).backward();
    loss_of(other->plain(batch(step))).backward();
    // If it reduces, a DeltaOptimizer treats missing gradients as zeros.
    for (Tensor& parameter : other->unused->parameters()) {
      if (lt::size() > 1)
        parameter.mutable_grad() = torch::zeros_like(parameter);
    }
    optimizer.step();
    plain.step();
  }
  expect_same(model, other);
}

TEST(DeltasOnTheirWayAreNotDisturbed) {
  Model model;
  lt::DeltaOptimizer optimizer(sgd_for(model), model->named_parameters());
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  if (lt::size() > 1) {
    EXPECT_THROWN(lt::Error, "before optimizer.step()", optimizer.zero_grad());
    EXPECT_THROWN(lt::Error, "more than backward_passes_per_step",
                  loss_of(model->plain(of_this_rank(batch(0)))).backward());
  }
  optimizer.step();
  optimizer.zero_grad();
}

TEST(DeltaOptionsThatMakeNoSenseAreRefused) {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  lt::DeltaOptions options;
  options.op = lt::ReduceOp::kSum;
  EXPECT_THROWN(lt::Error, "Adasum or an average",
                lt::DeltaOptimizer(sgd, model->named_parameters(), options));
  options = {};
  options.backward_passes_per_step = 0;
  EXPECT_THROWN(lt::Error, "backward_passes_per_step",
                lt::DeltaOptimizer(sgd, model->named_parameters(), options));
  lt::NamedTensors some;
  some.insert("weight", model->weight);
  EXPECT_THROWN(lt::Error, "named_parameters", lt::DeltaOptimizer(sgd, some));
}

}  // namespace
