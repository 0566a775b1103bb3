// SPDX-License-Identifier: Apache-2.0
// A program stops in the middle of an epoch and resumes from its file. It ends
// with the same weights, bit by bit, as a program without a stop.
#include <gtest/gtest.h>

#include <memory>

#include "horovodpp/autograd.h"
#include "horovodpp/data/data.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"
#include "test/support/temporary_folder.h"

namespace hvd::optim {
namespace {

constexpr std::int64_t kItems = 30;
constexpr std::int64_t kEpochs = 3;

std::vector<Tensor> make_data() {
  manual_seed(9);
  const Tensor x = randn({kItems, 3});
  return {x, gt(x.sum({1}), 0.0).to(DType::kI64)};
}

template <typename Make>
class Program {
 public:
  explicit Program(const Make& make) : optimizer_(make(model_)) {}

  // Trains. If `steps` is above 0, saves and stops after so many steps.
  void run(int steps, const std::string& path) {
    for (auto epoch = sampler_.epoch(); epoch < kEpochs; ++epoch) {
      sampler_.set_epoch(epoch);
      for (const data::Batch& batch : loader_.iterate()) {
        optimizer_->zero_grad();
        cross_entropy(model_(batch[0]), batch[1]).backward();
        clip_grad_norm_(model_.parameters(), 0.5);
        optimizer_->step();
        schedule_.step();
        if (--steps == 0) return save(path);
      }
    }
  }

  void save(const std::string& path) const {
    using namespace nn;
    StateDict all = with_prefix("model.", model_.state_dict());
    append(all, with_prefix("optimizer.", optimizer_->state_dict()));
    append(all, with_prefix("schedule.", schedule_.state_dict()));
    append(all, {{"sampler", sampler_.state()}});
    save_safetensors(path, all);
  }

  void load(const std::string& path) {
    using namespace nn;
    const StateDict all = load_safetensors(path).tensors;
    model_.load_state_dict(without_prefix("model.", all));
    optimizer_->load_state_dict(without_prefix("optimizer.", all));
    schedule_.load_state_dict(without_prefix("schedule.", all));
    sampler_.load_state(without_prefix("sampler", all).at(0).tensor);
  }

  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model_.parameters()) {
      for (const float x : p.to_vector<float>()) all.push_back(x);
    }
    return all;
  }

 private:
  nn::Sequential model_{std::make_shared<nn::Linear>(3, 8),
                        std::make_shared<nn::ReLU>(),
                        std::make_shared<nn::Linear>(8, 2)};
  std::unique_ptr<Optimizer> optimizer_;
  LRScheduler schedule_{
      *optimizer_,
      sequential_lr({linear_lr({.start_factor = 0.1, .total_steps = 4}),
                     cosine_annealing_lr({.max_steps = 20})},
                    {4})};
  data::TensorDataset dataset_{make_data()};
  data::DistributedSampler sampler_{kItems, {.seed = 5}};
  data::DataLoader loader_{dataset_, sampler_, {.batch_size = 4}};
};

template <typename Make>
void expect_same_weights_after_resuming(const Make& make) {
  const TemporaryFolder folder;
  const std::string path = folder.path("checkpoint");
  manual_seed(1);
  Program whole(make);
  const auto start = whole.weights();
  whole.run(0, path);
  // In the first epoch, at its end (8 batches), and in a later one.
  for (const int steps : {3, 8, 13}) {
    manual_seed(1);
    Program stopped(make);
    ASSERT_EQ(stopped.weights(), start);
    stopped.run(steps, path);
    manual_seed(77);
    Program resumed(make);
    resumed.load(path);
    resumed.run(0, path);
    EXPECT_EQ(resumed.weights(), whole.weights()) << steps;
    EXPECT_NE(stopped.weights(), whole.weights());
  }
}

TEST(Checkpoint, WithSgdContinuesBitExactly) {
  expect_same_weights_after_resuming([](nn::Module& model) {
    return std::make_unique<SGD>(
        model.named_parameters(),
        SGDOptions{.learning_rate = 0.1, .momentum = 0.9});
  });
}

TEST(Checkpoint, WithAdamWContinuesBitExactly) {
  expect_same_weights_after_resuming([](nn::Module& model) {
    return std::make_unique<AdamW>(
        model.named_parameters(),
        AdamWOptions{.learning_rate = 0.01, .amsgrad = true});
  });
}

}  // namespace
}  // namespace hvd::optim
