// SPDX-License-Identifier: Apache-2.0
// Trains a generator and a critic, each with an optimizer of its own, with
// libtorch:
//
//   horovodrun -np 2 ./gan [BATCH [STEPS]]
//
// The generator learns to turn noise into points on a circle. Its loss passes
// through the critic, which is frozen meanwhile.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>

#include <horovodpp/libtorch.h>

namespace {

torch::nn::Sequential mlp(std::int64_t inputs, std::int64_t outputs) {
  using namespace torch::nn;
  const auto leaky = [] {
    return LeakyReLU(LeakyReLUOptions().negative_slope(0.2));
  };
  return Sequential(Linear(inputs, 64), leaky(), Linear(64, 64), leaky(),
                    Linear(64, outputs));
}

hvd::libtorch::DistributedOptimizer optimizer_of(torch::nn::Sequential& model,
                                                 const char* name) {
  hvd::libtorch::DistributedOptions options;
  options.name = name;
  return {
      torch::optim::Adam(model->parameters(),
                         torch::optim::AdamOptions(1e-3).betas({0.5, 0.99})),
      model->named_parameters(), options};
}

torch::Tensor is_real(const torch::Tensor& score) {
  return torch::softplus(-score).mean();
}
torch::Tensor is_fake(const torch::Tensor& score) {
  return torch::softplus(score).mean();
}

// The mean over all ranks.
double mean_of(const torch::Tensor& loss) {
  return hvd::libtorch::allreduce(loss.detach()).item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::atoi(argv[1]) : 64;  // Of each rank.
  const int steps = argc > 2 ? std::atoi(argv[2]) : 1000;
  hvd::libtorch::init();
  torch::manual_seed(1);
  torch::set_num_threads(1);
  torch::nn::Sequential generator = mlp(2, 2), critic = mlp(2, 1);
  hvd::libtorch::broadcast_parameters(*generator, 0);
  hvd::libtorch::broadcast_parameters(*critic, 0);
  auto of_generator = optimizer_of(generator, "generator");
  auto of_critic = optimizer_of(critic, "critic");

  // The ranks draw the same numbers, and each takes its part.
  const int all = batch * hvd::libtorch::size();
  const int first = batch * hvd::libtorch::rank();
  for (int step = 0; step < steps; ++step) {
    const auto angles = 6.2831853 * torch::rand({all}).narrow(0, first, batch);
    const auto real = torch::stack({angles.cos(), angles.sin()}, 1);
    const auto noise = torch::randn({all, 2}).narrow(0, first, batch);

    of_critic.zero_grad();
    const auto fake = generator->forward(noise).detach();
    const auto critic_loss =
        is_real(critic->forward(real)) + is_fake(critic->forward(fake));
    critic_loss.backward();
    of_critic.step();

    const hvd::libtorch::Frozen frozen(critic->parameters());
    of_generator.zero_grad();
    const auto loss = is_real(critic->forward(generator->forward(noise)));
    loss.backward();
    of_generator.step();

    const double of_both = mean_of(critic_loss) + mean_of(loss);
    if (hvd::libtorch::rank() == 0) {
      std::printf("step %d: loss %.7f\n", step, of_both);
    }
  }
}
