// SPDX-License-Identifier: Apache-2.0
// Optimizers that outlive their job.
#include "test/libtorch/checks.h"
#include "test/libtorch/model.h"

namespace {

namespace lt = hvd::libtorch;
using test::batch;
using test::loss_of;
using test::Model;
using test::of_this_rank;
using torch::Tensor;

// A program that trains with `optimizer`, which belongs to an earlier job.
template <typename Optimizer>
void train(Model& model, Optimizer& optimizer) {
  optimizer.zero_grad();
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  optimizer.step();
}

template <typename Optimizer>
void expect_no_step_after_shutdown() {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  Optimizer optimizer(sgd, model->named_parameters());
  train(model, optimizer);
  const Tensor before = model->weight.detach().clone();
  hvd_shutdown();
  EXPECT_THROWN(lt::Error, "", optimizer.step());
  lt::init();
  EXPECT(torch::equal(model->weight, before));
  if (lt::size() > 1) {
    EXPECT_THROWN(lt::Error, "this rank has left", optimizer.step());
    EXPECT(torch::equal(model->weight, before));
  }
}

TEST(AfterShutdownAStepIsAnError) {
  expect_no_step_after_shutdown<lt::DistributedOptimizer>();
}

TEST(AfterShutdownAStepByDeltasIsAnError) {
  expect_no_step_after_shutdown<lt::DeltaOptimizer>();
}

TEST(ANewOptimizerTrainsInTheNextJob) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  {
    lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
    train(model, optimizer);
    hvd_shutdown();
  }
  lt::init();
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  train(model, optimizer);
  const Tensor mine = model->weight.detach().clone();
  EXPECT_CLOSE(lt::allreduce(mine), mine, 1e-6);
}

}  // namespace
