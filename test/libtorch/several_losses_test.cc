// SPDX-License-Identifier: Apache-2.0
// Two models with an optimizer each, where the loss of one passes through the
// other, as in a GAN.
#include <torch/torch.h>

#include <vector>

#include "test/libtorch/checks.h"

namespace {

namespace lt = hvd::libtorch;
using torch::Tensor;

constexpr int kRowsOfARank = 4;

// Of all ranks, in order.
Tensor noise_of(int step) {
  torch::manual_seed(200 + step);
  return torch::randn({lt::size() * kRowsOfARank, 3});
}
Tensor part_of(const Tensor& all) {
  return all.narrow(0, lt::rank() * kRowsOfARank, kRowsOfARank);
}

struct Gan {
  Gan() {
    torch::manual_seed(5);
    generator = torch::nn::Linear(3, 2);
    critic = torch::nn::Linear(2, 1);
  }
  Tensor critic_loss(const Tensor& noise) {
    const Tensor fake = generator->forward(noise).detach();
    return critic->forward(fake).tanh().mean() -
           critic->forward(torch::ones_like(fake)).tanh().mean();
  }
  Tensor generator_loss(const Tensor& noise) {
    return -critic->forward(generator->forward(noise)).tanh().mean();
  }
  std::vector<Tensor> parameters() const {
    std::vector<Tensor> all = generator->parameters();
    for (const Tensor& each : critic->parameters()) all.push_back(each);
    return all;
  }

  torch::nn::Linear generator{nullptr}, critic{nullptr};
};

struct Optimizers {
  explicit Optimizers(Gan& gan, const lt::DistributedOptions& options = {})
      : of_generator(torch::optim::SGD(gan.generator->parameters(), 0.1),
                     gan.generator->named_parameters(),
                     named(options, "generator")),
        of_critic(torch::optim::SGD(gan.critic->parameters(), 0.1),
                  gan.critic->named_parameters(), named(options, "critic")) {}
  static lt::DistributedOptions named(lt::DistributedOptions options,
                                      const char* name) {
    options.name = name;
    return options;
  }
  lt::DistributedOptimizer of_generator, of_critic;
};

// One process on the rows of all ranks.
std::vector<Tensor> trained_alone(int steps) {
  Gan gan;
  torch::optim::SGD of_generator(gan.generator->parameters(), 0.1);
  torch::optim::SGD of_critic(gan.critic->parameters(), 0.1);
  for (int step = 0; step < steps; ++step) {
    const Tensor noise = noise_of(step);
    of_critic.zero_grad();
    gan.critic_loss(noise).backward();
    of_critic.step();
    of_generator.zero_grad();
    gan.generator_loss(noise).backward();
    of_generator.step();
  }
  return gan.parameters();
}

void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_CLOSE(a[i], b[i], 1e-6);
}

TEST(AFrozenCriticGetsNoGradients) {
  Gan gan;
  Optimizers optimizers(gan);
  for (int step = 0; step < 4; ++step) {
    const Tensor noise = part_of(noise_of(step));
    optimizers.of_critic.zero_grad();
    gan.critic_loss(noise).backward();
    optimizers.of_critic.step();
    const lt::Frozen frozen(gan.critic->parameters());
    optimizers.of_generator.zero_grad();
    gan.generator_loss(noise).backward();
    optimizers.of_generator.step();
  }
  EXPECT(gan.critic->weight.requires_grad());
  expect_close(gan.parameters(), trained_alone(4));
}

TEST(ParametersThatWereFrozenBeforeStayFrozen) {
  torch::nn::Linear model(2, 2);
  model->bias.set_requires_grad(false);
  {
    const lt::Frozen frozen(model->parameters());
    EXPECT(!model->weight.requires_grad());
  }
  EXPECT(model->weight.requires_grad());
  EXPECT(!model->bias.requires_grad());
}

TEST(GradientsMayBeSentWithTheStepInstead) {
  Gan gan;
  lt::DistributedOptions options;
  options.during_backward = false;
  Optimizers optimizers(gan, options);
  for (int step = 0; step < 4; ++step) {
    const Tensor noise = part_of(noise_of(step));
    optimizers.of_critic.zero_grad();
    gan.critic_loss(noise).backward();
    optimizers.of_critic.step();
    optimizers.of_generator.zero_grad();
    gan.generator_loss(noise).backward();
    optimizers.of_generator.step();
  }
  expect_close(gan.parameters(), trained_alone(4));
}

TEST(AnUnfrozenCriticIsAnErrorThatNamesTheOtherLoss) {
  if (lt::size() == 1) return;
  Gan gan;
  Optimizers optimizers(gan);
  gan.generator_loss(part_of(noise_of(0))).backward();
  // Without clearing, a surplus pass is as likely.
  EXPECT_THROWN(lt::Error, "Increase backward_passes_per_step",
                gan.generator_loss(part_of(noise_of(1))).backward());
  EXPECT_THROWN(lt::Error, "If another model's loss reached",
                optimizers.of_critic.zero_grad());
  gan.critic->zero_grad();  // The optimizer does not see it.
  EXPECT_THROWN(lt::Error, "Freeze the parameter in that backward",
                gan.critic_loss(part_of(noise_of(0))).backward());
  optimizers.of_critic.synchronize();
  optimizers.of_generator.synchronize();
}

TEST(DeltasNameTheOtherLoss) {
  if (lt::size() == 1) return;
  Gan gan;
  lt::DeltaOptimizer of_critic(torch::optim::SGD(gan.critic->parameters(), 0.1),
                               gan.critic->named_parameters());
  gan.generator_loss(part_of(noise_of(0))).backward();
  gan.critic->zero_grad();
  EXPECT_THROWN(lt::Error, "Freeze the parameter in that backward",
                gan.critic_loss(part_of(noise_of(0))).backward());
  of_critic.step();
}

}  // namespace
