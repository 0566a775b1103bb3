// SPDX-License-Identifier: Apache-2.0
// Parts of a batch with a DistributedOptimizer give the same result as the
// whole batch in one process, for every model and option.
#include <thread>

#include "test/libtorch/checks.h"
#include "test/libtorch/model.h"

namespace {

namespace lt = hvd::libtorch;
using test::batch;
using test::loss_of;
using test::Model;
using test::ModelImpl;
using test::of_this_rank;
using test::sgd_for;
using torch::Tensor;

using Forward = Tensor (ModelImpl::*)(Tensor);
constexpr int kSteps = 3;

std::vector<Tensor> alone() {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    loss_of(model->plain(batch(step))).backward();
    sgd.step();
  }
  return model->parameters();
}

void check_training(int line, const lt::DistributedOptions& options,
                    Forward forward, double most) {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters(), options);
  const int passes = options.backward_passes_per_step;
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    for (int pass = 0; pass < passes; ++pass) {
      const Tensor rows = of_this_rank(batch(step)).chunk(passes)[pass];
      (loss_of(((*model).*forward)(rows)) / passes).backward();
    }
    optimizer.step();
  }
  const std::vector<Tensor> wanted = alone();
  const std::vector<Tensor> found = model->parameters();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (test::distance(found[i], wanted[i]) > most) {
      test::fail(line, "parameter " + std::to_string(i) + " is off by " +
                           std::to_string(test::distance(found[i], wanted[i])));
    }
    const Tensor mine = found[i].detach().clone();
    EXPECT(torch::equal(mine, lt::broadcast_(mine.clone(), 0)));
  }
  // Each parameter once per step.
  const auto sent = optimizer.reduced();
  EXPECT(sent.gradients == (lt::size() == 1 ? 0 : found.size() * kSteps));
}
#define EXPECT_TRAINING(...) check_training(__LINE__, __VA_ARGS__)

TEST(RanksTogetherEqualOneRank) {
  for (const Forward forward :
       {&ModelImpl::plain, &ModelImpl::checkpointed, &ModelImpl::nested}) {
    lt::DistributedOptions options;
    EXPECT_TRAINING(options, forward, 1e-6);
    options.backward_passes_per_step = 2;
    EXPECT_TRAINING(options, forward, 1e-6);
    options.during_backward = false;
    EXPECT_TRAINING(options, forward, 1e-6);
    options.gradients_in_arena = false;
    options.gradient_predivide_factor = 4;
    EXPECT_TRAINING(options, forward, 1e-6);
    options.during_backward = true;
    options.num_groups = 3;
    EXPECT_TRAINING(options, forward, 1e-6);
  }
}

// Each rank's gradient is its number plus 1, and the mean after the reduction.
void check_moment_of_sending(int compute_threads, bool waits) {
  Tensor weight = torch::zeros({64}, torch::requires_grad());
  lt::DistributedOptions options;
  options.compute_threads = compute_threads;
  lt::DistributedOptimizer optimizer(torch::optim::SGD({weight}, 0.1), options);
  (weight * (lt::rank() + 1)).sum().backward();
  const auto first = [&weight] { return weight.grad()[0].item<double>(); };
  lt::barrier();  // All ranks have sent what they send during backward.
  while (!waits && first() != (lt::size() + 1) / 2.0) std::this_thread::yield();
  if (waits) EXPECT(first() == lt::rank() + 1);
  optimizer.step();
  EXPECT(first() == (lt::size() + 1) / 2.0);
}

TEST(GradientsWaitForTheStepIfTheReductionHasNoCore) {
  check_moment_of_sending(/*compute_threads=*/1000, /*waits=*/true);
  check_moment_of_sending(/*compute_threads=*/0, /*waits=*/false);
}

TEST(CompressedGradientsComeClose) {
  for (const auto compression :
       {lt::Compression::kFloat16, lt::Compression::kBFloat16,
        lt::Compression::kInt8}) {
    lt::DistributedOptions options;
    options.compression = compression;
    EXPECT_TRAINING(options, &ModelImpl::checkpointed, 5e-2);
  }
}

// The result for these gradients without the adapter's optimizer.
std::vector<Tensor> compressed_by_hand(const hvd_reducer_options& options) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.2);
  hvd_reducer reducer = 0;
  EXPECT(hvd_reducer_create(&options, &reducer) == HVD_OK);
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    loss_of(model->plain(of_this_rank(batch(step)))).backward();
    for (const auto& named : model->named_parameters()) {
      Tensor& gradient = named.value().mutable_grad();
      if (!gradient.defined()) gradient = torch::zeros_like(named.value());
      const hvd_tensor in_words = lt::internal::described(gradient);
      EXPECT(hvd_reducer_add(reducer, named.key().c_str(), &in_words) ==
             HVD_OK);
    }
    EXPECT(hvd_reducer_finish(reducer) == HVD_OK);
    sgd.step();
  }
  EXPECT(hvd_reducer_destroy(reducer) == HVD_OK);
  return model->parameters();
}

TEST(OptionsOfTopKAreTheLibrarys) {
  Model model;
  lt::DistributedOptions options;
  options.compression = lt::Compression::kTopK;
  options.top_k_share = 0.1;
  options.compression_momentum = 0.9;
  options.compression_warmup_steps = 2;
  options.top_k_warmup_share = 0.5;
  options.top_k_whole_below = 10;
  options.top_k_max_norm = 0.1;
  options.top_k_mask_velocity = true;
  lt::DistributedOptimizer optimizer(
      torch::optim::SGD(model->parameters(), 0.2), model->named_parameters(),
      options);
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    loss_of(model->plain(of_this_rank(batch(step)))).backward();
    optimizer.step();
  }
  if (lt::size() == 1) return;  // It compresses nothing.
  hvd_reducer_options by_hand = HVD_REDUCER_OPTIONS;
  by_hand.name = "by hand";
  by_hand.compression = HVD_COMPRESSION_TOP_K;
  by_hand.top_k_share = 0.1;
  by_hand.compression_momentum = 0.9;
  by_hand.compression_warmup_steps = 2;
  by_hand.top_k_warmup_share = 0.5;
  by_hand.top_k_whole_below = 10;
  by_hand.top_k_max_norm = 0.1;
  by_hand.top_k_mask_velocity = 1;
  EXPECT(test::equal(model->parameters(), compressed_by_hand(by_hand)));
}

TEST(GroupsOfParametersAreSentTogether) {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  lt::DistributedOptions options;
  options.groups = {{model->weight, model->middle->weight},
                    {model->unused->bias}};
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters(), options);
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  optimizer.step();
  options.groups = {{model->weight}, {model->weight}};
  if (lt::size() > 1) {
    EXPECT_THROWN(
        lt::Error, "only appear once",
        lt::DistributedOptimizer(sgd, model->named_parameters(), options));
  }
  options.groups = {{torch::ones(1)}};
  EXPECT_THROWN(
      lt::Error, "no parameter",
      lt::DistributedOptimizer(sgd, model->named_parameters(), options));
}

TEST(OptionsThatMakeNoSenseAreRefused) {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  const auto refused = [&](lt::DistributedOptions options, const char* part,
                           int line) {
    test::check_throws<lt::Error>(line, part, [&] {
      lt::DistributedOptimizer(sgd, model->named_parameters(), options);
    });
  };
  lt::DistributedOptions options;
  options.backward_passes_per_step = 0;
  refused(options, "backward_passes_per_step must be > 0", __LINE__);
  options = {};
  options.op = lt::ReduceOp::kMax;
  refused(options, "average, a sum or Adasum", __LINE__);
  options = {};
  options.op = lt::ReduceOp::kSum;
  options.gradient_predivide_factor = 2;
  refused(options, "gradient_predivide_factor", __LINE__);
  options = {};
  options.num_groups = -1;
  refused(options, "num_groups", __LINE__);
  options.num_groups = 1;
  options.groups = {{model->weight}};
  refused(options, "give one", __LINE__);
  lt::NamedTensors some;
  some.insert("weight", model->weight);
  EXPECT_THROWN(lt::Error, "named_parameters",
                lt::DistributedOptimizer(sgd, some));
}

TEST(ParametersThatOtherRanksUseGetTheirMean) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 1.0);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  const Tensor before = model->unused->bias.detach().clone();
  if (lt::rank() == 0) model->unused->bias.sum().backward();
  optimizer.step();
  EXPECT_CLOSE(before - model->unused->bias, torch::full({2}, 1.0 / lt::size()),
               1e-6);
}

TEST(ParametersThatNoRankUsedStayAsInOneProcess) {
  const auto decaying =
      torch::optim::SGDOptions(0.2).momentum(0.9).weight_decay(0.1);
  Model model, alone;
  torch::optim::SGD sgd(model->parameters(), decaying);
  torch::optim::SGD one(alone->parameters(), decaying);
  lt::DistributedOptions options;
  options.find_unused_parameters = true;
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters(), options);
  // All ranks use it, none, only rank 0, none.
  for (const int users : {lt::size(), 0, 1, 0}) {
    optimizer.zero_grad();
    model->unused->zero_grad(/*set_to_none=*/true);
    one.zero_grad();
    alone->unused->zero_grad(/*set_to_none=*/true);
    if (lt::rank() < users) model->unused->bias.sum().backward();
    if (users > 0) (alone->unused->bias.sum() * users / lt::size()).backward();
    optimizer.step();
    one.step();
    EXPECT(model->unused->bias.grad().defined() == (users > 0));
    EXPECT_CLOSE(model->unused->bias, alone->unused->bias, 1e-6);
    EXPECT(!model->unused->weight.grad().defined());
    EXPECT(torch::equal(model->unused->weight, alone->unused->weight));
  }
}

TEST(ParametersWithoutNamesAreNumbered) {
  Model model;
  lt::DistributedOptimizer optimizer(
      torch::optim::SGD(model->parameters(), 0.1));
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  optimizer.step();
  EXPECT(optimizer.reduced().gradients ==
         (lt::size() == 1 ? 0 : model->parameters().size()));
}

TEST(FrozenParametersStayAndThawedOnesFollow) {
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  model->first->weight.set_requires_grad(false);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  const Tensor before = model->first->weight.detach().clone();
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  optimizer.step();
  EXPECT(torch::equal(before, model->first->weight));
  model->first->weight.set_requires_grad(true);
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    loss_of(model->plain(of_this_rank(batch(step)))).backward();
    optimizer.step();
    const Tensor mine = model->first->weight.detach().clone();
    EXPECT(torch::equal(mine, lt::broadcast_(mine.clone(), 0)));
    EXPECT(!torch::equal(before, mine));
  }
}

TEST(GradientsAreScaledDownTogether) {
  Model model, other;
  torch::optim::SGD sgd(model->parameters(), 0.1),
      plain(other->parameters(), 0.1);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  loss_of(model->plain(of_this_rank(batch(0)))).backward();
  loss_of(other->plain(batch(0))).backward();
  std::vector<Tensor> used;
  for (const Tensor& parameter : other->parameters()) {
    if (parameter.grad().defined()) used.push_back(parameter);
  }
  const double norm = torch::nn::utils::clip_grad_norm_(used, 0.01);
  plain.step();
  const lt::StepResult result = optimizer.step({0.01});
  EXPECT(std::abs(*result.norm - norm) < 1e-5);
  for (std::size_t i = 0; i < model->parameters().size(); ++i) {
    EXPECT_CLOSE(model->parameters()[i], other->parameters()[i], 1e-6);
  }
  // A norm that is NaN is an error.
  optimizer.zero_grad();
  (model->weight.sum() * std::nan("")).backward();
  EXPECT_THROWN(c10::Error, "non-finite", optimizer.step({0.01}));
  const Tensor loss =
      optimizer
          .step({std::numeric_limits<double>::infinity(),
                 [&] {
                   optimizer.zero_grad();
                   Tensor of = loss_of(model->plain(of_this_rank(batch(1))));
                   of.backward();
                   return of;
                 }})
          .loss;
  EXPECT(loss.item<float>() > 0);
}

// The sum over the rows of each row's mean.
Tensor sum_of(const Tensor& output) {
  return (output - 0.5).pow(2).mean(1).sum();
}

TEST(AWeightMakesTheMeanOfAllSamples) {
  Model model, other;
  torch::optim::SGD sgd = sgd_for(model), plain = sgd_for(other);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  for (int step = 0; step < kSteps; ++step) {
    // Rank 0 has all rows except one for each other rank.
    const Tensor all = batch(step);
    const int others = lt::size() - 1;
    const auto first = all.size(0) - others;
    const Tensor rows = lt::rank() == 0
                            ? all.narrow(0, 0, first)
                            : all.narrow(0, first + lt::rank() - 1, 1);
    optimizer.zero_grad();
    sum_of(model->plain(rows)).backward();
    lt::StepOptions options;
    options.weight = static_cast<double>(rows.size(0));
    optimizer.step(options);
    plain.zero_grad();
    loss_of(other->plain(all)).backward();
    plain.step();
  }
  for (std::size_t i = 0; i < model->parameters().size(); ++i) {
    EXPECT_CLOSE(model->parameters()[i], other->parameters()[i], 1e-6);
  }
}

TEST(WeightsThatMakeNoSenseAreRefused) {
  Model model;
  torch::optim::SGD sgd = sgd_for(model);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  lt::DistributedOptions options;
  options.op = lt::ReduceOp::kSum;
  options.name = "sums";
  lt::DistributedOptimizer summing(sgd, model->named_parameters(), options);
  lt::StepOptions step;
  step.weight = 1;
  EXPECT_THROWN(lt::Error, "an average only", summing.step(step));
  for (const double weight : {-1.0, std::nan("")}) {
    step.weight = weight;
    EXPECT_THROWN(lt::Error, "number of samples", optimizer.step(step));
  }
  step.weight = 0;
  EXPECT_THROWN(lt::Error, "add up to 0", optimizer.step(step));
  if (lt::size() == 1) return;
  step.weight = 1;
  optimizer.zero_grad();
  const auto skips = optimizer.skip_synchronize();
  EXPECT_THROWN(lt::Error, "skip_synchronize", optimizer.step(step));
}

TEST(OptimizersThatCallTheirClosureDecideAlike) {
  Model model;
  torch::optim::LBFGS lbfgs(model->parameters(),
                            torch::optim::LBFGSOptions(0.5).max_iter(4));
  lt::DistributedOptimizer optimizer(lbfgs, model->named_parameters());
  const Tensor rows = of_this_rank(batch(0));
  const auto closure = [&] {
    optimizer.zero_grad();
    const Tensor loss = loss_of(model->plain(rows));
    loss.backward();
    return loss;
  };
  const float first = optimizer.step(closure).item<float>();
  const float second = optimizer.step(closure).item<float>();
  EXPECT(second < first);
  const Tensor mine = model->weight.detach().clone();
  EXPECT(torch::equal(mine, lt::broadcast_(mine.clone(), 0)));
}

TEST(SparseGradientsAreTheRanksRows) {
  for (const bool as_dense : {false, true}) {
    torch::manual_seed(5);
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(10, 3).sparse(true));
    torch::optim::SGD sgd(table->parameters(), 1.0);
    lt::DistributedOptions options;
    options.sparse_as_dense = as_dense;
    lt::DistributedOptimizer optimizer(sgd, table->named_parameters(), options);
    for (int step = 0; step < 2; ++step) {
      const Tensor before = table->weight.detach().clone();
      optimizer.zero_grad();
      // In the second step only rank 0 uses the table.
      if (step == 0 || lt::rank() == 0) {
        table(torch::tensor({std::int64_t{0}, std::int64_t{lt::rank() + 1}}))
            .sum()
            .backward();
      }
      optimizer.step();
      if (lt::size() > 1) EXPECT(table->weight.grad().is_sparse());
      const double share = 1.0 / lt::size();
      Tensor wanted = torch::zeros({10, 3});
      wanted[0] = step == 0 ? 1.0 : share;
      for (int r = 0; r < (step == 0 ? lt::size() : 1); ++r)
        wanted[r + 1] = share;
      EXPECT_CLOSE(before - table->weight, wanted, 1e-6);
    }
  }
}

TEST(RanksOfASetStepTogether) {
  const int n = lt::size();
  if (n < 3) return;
  const lt::ProcessSet set = lt::add_process_set({0, 1});
  Model model;
  torch::optim::SGD sgd(model->parameters(), 1.0);
  lt::DistributedOptions options;
  options.process_set = set;
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters(), options);
  const Tensor before = model->unused->bias.detach().clone();
  (model->unused->bias.sum() * lt::rank()).backward();
  optimizer.step();
  EXPECT_CLOSE(before - model->unused->bias,
               torch::full({2}, lt::rank() < 2 ? 0.5 : lt::rank()), 1e-6);
  lt::barrier();
  lt::remove_process_set(set);
}

TEST(GradientsLieInTheArenaUntilTheyAreHeld) {
  if (lt::size() == 1) return;
  Model model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  lt::DistributedOptimizer optimizer(sgd, model->named_parameters());
  Tensor held;
  for (int step = 0; step < 3; ++step) {
    for (Tensor& parameter : model->parameters())
      parameter.mutable_grad() = Tensor();
    loss_of(model->plain(of_this_rank(batch(step)))).backward();
    optimizer.step();
    const Tensor& gradient = model->weight.grad();
    EXPECT(hvd_is_in_arena(gradient.data_ptr(), gradient.nbytes()) == 1);
    if (step == 1) held = gradient;
    if (step == 2) EXPECT(held.data_ptr() != gradient.data_ptr());
  }
}

// Runs its own backward pass, like a reentrant checkpoint.
struct Reentrant : torch::autograd::Function<Reentrant> {
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& x, const Tensor& weight) {
    context->save_for_backward({x, weight});
    return x * weight.detach();
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context,
      torch::autograd::variable_list gradients) {
    const torch::AutoGradMode records(true);
    const auto saved = context->get_saved_variables();
    const Tensor x = saved[0].detach().requires_grad_();
    (x * saved[1]).backward(gradients[0]);
    return {x.grad(), Tensor()};
  }
};

TEST(GradientsInSeveralPartsAreRefusedOrSentWhenTheStepIsDue) {
  const auto gradient_of = [](bool during_backward) {
    Tensor weight = torch::full({2}, 3.0, torch::requires_grad());
    torch::optim::SGD sgd(std::vector<Tensor>{weight}, 0.1);
    lt::DistributedOptions options;
    options.during_backward = during_backward;
    lt::DistributedOptimizer optimizer(sgd, options);
    Tensor x = torch::full({2}, 2.0 + lt::rank(), torch::requires_grad());
    Reentrant::apply(Reentrant::apply(x, weight), weight).sum().backward();
    optimizer.synchronize();
    return weight.grad().clone();
  };
  // 2 x w, on average.
  EXPECT_CLOSE(gradient_of(false),
               torch::full({2}, 6 * (2 + (lt::size() - 1) / 2.0)), 1e-5);
  if (lt::size() > 1) {
    EXPECT_THROWN(lt::Error, "during_backward = false", gradient_of(true));
  }
}

}  // namespace
