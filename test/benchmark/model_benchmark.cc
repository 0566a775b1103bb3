// SPDX-License-Identifier: Apache-2.0
// Training steps of an example model on one thread, when asked to.
//
//   echo 10 | model_benchmark gpt
//
// Reads numbers from standard input, makes as many steps for each, and answers
// with a line of JSON: how long each step took, from the forgotten gradients to
// the moved parameters, the last loss, and the most memory so far, without what
// the process had before there was a model. compare_with_torch.py speaks with it,
// and with PyTorch in the same way.
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/core/threads.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/sgd.h"
#include "models/char_lstm.h"
#include "models/densenet.h"
#include "models/gpt.h"
#include "models/lenet.h"
#include "models/mlp.h"
#include "models/resnet.h"
#include "models/swin.h"
#include "test/models/same_numbers.h"

namespace hvd {
namespace {

// As SETTINGS in compare_with_torch.py.
struct Contest {
  std::function<std::unique_ptr<nn::Module>()> make;
  std::int64_t batch;
  std::int64_t length = 0;  // Tokens; 0: it sees images.
};

template <typename M>
std::unique_ptr<nn::Module> make() {
  return std::make_unique<M>();
}

std::map<std::string, Contest> contests() {
  return {
      {"mlp", {.make = make<models::Mlp>, .batch = 64}},
      {"lenet", {.make = make<models::LeNet>, .batch = 64}},
      {"resnet18", {.make = make<models::ResNet18>, .batch = 64}},
      {"densenet", {.make = make<models::DenseNetBC>, .batch = 64}},
      {"swin", {.make = make<models::Swin>, .batch = 64}},
      {"gpt", {.make = make<models::GPT>, .batch = 16, .length = 128}},
      {"lstm", {.make = make<models::CharLSTM>, .batch = 32, .length = 64}}};
}

struct Sample {
  Tensor inputs;
  Tensor targets;
};

Sample sample_of(const Contest& contest) {
  if (contest.length > 0) {
    const Tensor tokens =
        same_integers("tokens", {contest.batch, contest.length + 1}, 256);
    return {tokens.narrow(1, 0, contest.length).contiguous(),
            tokens.narrow(1, 1, contest.length).reshape({-1})};
  }
  return {same_uniform("images", {contest.batch, 1, 28, 28}).to(DType::kF32),
          same_integers("labels", {contest.batch}, 10)};
}

std::unique_ptr<optim::Optimizer> optimizer_of(const Contest& contest,
                                               const nn::Module& model) {
  if (contest.length > 0) {
    return std::make_unique<optim::AdamW>(
        model.named_parameters(), optim::AdamWOptions{.learning_rate = 3e-4});
  }
  return std::make_unique<optim::SGD>(
      model.named_parameters(),
      optim::SGDOptions{.learning_rate = 1e-3, .momentum = 0.9});
}

std::int64_t present_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

class Trainer {
 public:
  explicit Trainer(const Contest& contest)
      : model_(contest.make()), sample_(sample_of(contest)) {
    fill_with_same_numbers(*model_);
    optimizer_ = optimizer_of(contest, *model_);
  }

  // Its seconds.
  double step() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    optimizer_->zero_grad();
    const Tensor logits = (*model_)(sample_.inputs);
    const Tensor loss =
        cross_entropy(logits.reshape({-1, logits.size(-1)}), sample_.targets);
    loss.backward();
    optimizer_->step();
    loss_ = loss.detach().item<float>();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  float loss() const { return loss_; }

 private:
  std::unique_ptr<nn::Module> model_;
  Sample sample_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  float loss_ = 0;
};

int serve(const std::string& name) {
  const auto all = contests();
  const auto found = all.find(name);
  if (found == all.end()) {
    std::cerr << "model_benchmark: no model " << name << '\n';
    return 2;
  }
  set_num_threads(1);
  const std::int64_t before = present_bytes();
  Trainer trainer(found->second);
  int count = 0;
  while (std::cin >> count) {
    std::cout << "{\"seconds\": [";
    for (int i = 0; i < count; ++i) {
      std::cout << (i == 0 ? "" : ", ") << trainer.step();
    }
    std::cout << "], \"loss\": " << trainer.loss()
              << ", \"peak_bytes\": " << peak_bytes() - before << '}'
              << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace hvd

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: model_benchmark MODEL, with numbers of steps on "
                 "standard input\n";
    return 2;
  }
  return hvd::serve(argv[1]);
}
