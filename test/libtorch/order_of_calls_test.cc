// SPDX-License-Identifier: Apache-2.0
// An optimizer's behavior and messages for calls in an unusual order.
#include "test/libtorch/checks.h"
#include "test/libtorch/model.h"

namespace {

namespace lt = hvd::libtorch;
using test::batch;
using test::loss_of;
using test::Model;
using test::of_this_rank;
using torch::Tensor;

// Counts warnings, whichever way libtorch reports them.
class Warnings : public c10::WarningHandler {
 public:
#if HVD_TORCH_AT_LEAST(2, 0)
  Warnings() : before_(c10::WarningUtils::get_warning_handler()) {
    c10::WarningUtils::set_warning_handler(this);
  }
  ~Warnings() override { c10::WarningUtils::set_warning_handler(before_); }
  void process(const c10::Warning& warning) override {
    texts.push_back(warning.msg());
  }
#else
  Warnings() : before_(c10::Warning::get_warning_handler()) {
    c10::Warning::set_warning_handler(this);
  }
  ~Warnings() override { c10::Warning::set_warning_handler(before_); }
  void process(const c10::SourceLocation&, const std::string& text,
               bool) override {
    texts.push_back(text);
  }
#endif
  int count(const char* part) const {
    int found = 0;
    for (const std::string& text : texts)
      found += text.find(part) != std::string::npos;
    return found;
  }
  std::vector<std::string> texts;

 private:
  c10::WarningHandler* const before_;
};

TEST(StepsAfterSynchronizeReduceNothingAgain) {
  const Tensor weight = torch::zeros({2}, torch::requires_grad());
  lt::DistributedOptions options;
  options.op = lt::ReduceOp::kSum;
  lt::DistributedOptimizer optimizer(torch::optim::SGD({weight}, 1), options);
  weight.sum().backward();
  optimizer.synchronize();
  optimizer.step();
  EXPECT(torch::equal(weight.detach(), torch::full({2}, -1.0 * lt::size())));
}

TEST(StepsAfterSynchronizeAreWarnedOf) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  const Warnings warnings;
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  optimizer.synchronize();
  {
    const auto skip = optimizer.skip_synchronize();
    optimizer.step();
  }
  EXPECT(warnings.count("skip_synchronize") == 0);
  optimizer.zero_grad();
  loss_of(model->plain(of_this_rank(batch(1)))).backward();
  optimizer.synchronize();
  const Tensor before = model->weight.grad().clone();
  optimizer.step();
  EXPECT(warnings.count("skip_synchronize") == 1);
  EXPECT_CLOSE(before, model->weight.grad(), 1e-6);
  optimizer.zero_grad();
  loss_of(model->plain(of_this_rank(batch(2)))).backward();
  optimizer.step();
  EXPECT(warnings.count("skip_synchronize") == 1);
}

TEST(GradientsOnTheirWayAreLeftAlone) {
  if (lt::size() == 1) return;
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  const Warnings warnings;
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  EXPECT_THROWN(lt::Error, "zero_grad() was called after",
                optimizer.zero_grad());
  EXPECT_THROWN(lt::Error, "more than backward_passes_per_step",
                loss_of(model->plain(of_this_rank(batch(0)))).backward());
  optimizer.synchronize();
  EXPECT(warnings.count("was changed") == 0);
  optimizer.zero_grad();
  optimizer.set_backward_passes_per_step(2);
  for (int pass = 0; pass < 2; ++pass) {
    loss_of(model->plain(of_this_rank(batch(0)))).backward();
  }
  {
    const torch::NoGradGuard no_grad;
    model->weight.mutable_grad() = torch::zeros_like(model->weight);
  }
  optimizer.synchronize();
  EXPECT(warnings.count("'weight' was changed") == 1);
  EXPECT_THROWN(lt::Error, "must be > 0",
                optimizer.set_backward_passes_per_step(0));
}

TEST(AStepThatIsGivenUpIsForgotten) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  lt::DistributedOptions options;
  options.backward_passes_per_step = 2;
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters(), options);
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    for (int pass = 0; pass < 2; ++pass) {
      loss_of(model->plain(of_this_rank(batch(0)))).backward();
    }
    optimizer.step();
  }
}

TEST(AnOptimizerMayEndBeforeItsStep) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  {
    lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
    loss_of(model->plain(of_this_rank(batch(0)))).backward();
  }
  sgd.zero_grad();
  loss_of(model->plain(of_this_rank(batch(0))))
      .backward();  // No optimizer sees it.
  const Tensor mine = model->weight.grad().clone();
  lt::DistributedOptimizer next(sgd, model->named_parameters());
  next.step();
  EXPECT_CLOSE(model->weight.grad(), lt::allreduce(mine), 1e-6);
}

}  // namespace
