// SPDX-License-Identifier: Apache-2.0
// Items 205 and 206 of the contract, and every model with every way of
// checkpointing: the same bits as without.
#include "models/checkpointing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/optim/sgd.h"
#include "models/language/bert.h"
#include "models/language/char_lstm.h"
#include "models/language/gpt.h"
#include "models/language/llama.h"
#include "models/vision/densenet.h"
#include "models/vision/image_gru.h"
#include "models/vision/lenet.h"
#include "models/vision/mlp.h"
#include "models/vision/resnet.h"
#include "models/vision/swin.h"
#include "models/vision/unet.h"
#include "models/vision/vit.h"
#include "test/models/same_numbers.h"
#include "test/models/tasks.h"

namespace hvd {
namespace {

using models::ChainModel;
using models::Checkpointing;
using testing::HasSubstr;

TEST(Checkpointing, IsReadFromATextWithTheUsualUnits) {
  using Form = Checkpointing::Form;
  EXPECT_EQ(Checkpointing::parse("none").form, Form::kNone);
  EXPECT_EQ(Checkpointing::parse("block").form, Form::kBlock);
  EXPECT_EQ(Checkpointing::parse("sqrt").form, Form::kSqrt);
  EXPECT_EQ(Checkpointing::parse("online=1").form, Form::kOnline);
  EXPECT_EQ(Checkpointing::parse("plan=0 (1 2:1) 3").plan.to_string(),
            "0 (1 2:1) 3");
  EXPECT_EQ(Checkpointing::parse("online=25%").budget.fraction, 0.25);
  const auto bytes = [](const std::string& text) {
    const auto parsed = Checkpointing::parse("budget=" + text);
    EXPECT_EQ(parsed.form, Form::kBudget);
    return parsed.budget.memory_budget.value_or(-1);
  };
  EXPECT_EQ(bytes("1048576"), 1 << 20);
  EXPECT_EQ(bytes("12B"), 12);
  EXPECT_EQ(bytes("3KiB"), 3 << 10);
  EXPECT_EQ(bytes("3 kb"), 3000);
  EXPECT_EQ(bytes("512MiB"), 512 << 20);
  EXPECT_EQ(bytes("512m"), 512 << 20);
  EXPECT_EQ(bytes("1.5GB"), 1500000000);
  EXPECT_EQ(bytes("2G"), std::int64_t{2} << 30);
  EXPECT_EQ(bytes("1TiB"), std::int64_t{1} << 40);
  EXPECT_EQ(bytes("1e30"), std::int64_t{1} << 62);
}

TEST(Checkpointing, ReportsAMalformedTextAndTheValidForms) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      Checkpointing::parse(text);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "none about " + text;
  };
  for (const std::string text :
       {"", "blocks", "Block", "budgets=3", "sqrt=3"}) {
    EXPECT_THAT(complaint(text),
                HasSubstr("none, block, sqrt, budget=BYTES, online=BYTES and "
                          "plan=PLAN"));
  }
  for (const std::string text : {"budget", "online", "budget=", "online=MiB"}) {
    EXPECT_THAT(complaint(text), HasSubstr("does not say how much memory"));
    EXPECT_THAT(complaint(text), HasSubstr("512MiB"));
  }
  for (const std::string text : {"budget=0", "online=-3MiB", "budget=nan%"}) {
    EXPECT_THAT(complaint(text), HasSubstr("leaves no memory at all"));
  }
  for (const std::string text : {"budget=3MiBs", "budget=3X", "budget=3%%"}) {
    EXPECT_THAT(complaint(text), HasSubstr("no unit that is known"));
  }
  EXPECT_THAT(complaint("plan=0 (1"), HasSubstr("a closing parenthesis"));
}

struct CheckpointedCase {
  std::string name;
  std::function<std::unique_ptr<ChainModel>()> make;
  bool reads_text = false;
  bool denoises = false;
  bool is_flat = false;  // Too few stages to recompute any.
  friend void PrintTo(const CheckpointedCase& c, std::ostream* out) {
    *out << c.name;
  }
};

template <typename M, typename... Options>
auto making(Options... options) {
  return [=] { return std::make_unique<M>(options...); };
}

// With random numbers in every model that can draw some.
std::vector<CheckpointedCase> checkpointed_cases() {
  return {
      {.name = "mlp", .make = making<models::Mlp>(), .is_flat = true},
      {.name = "lenet", .make = making<models::LeNet>(), .is_flat = true},
      {.name = "resnet18",
       .make = making<models::ResNet18>(models::ResNetOptions{.width = 4})},
      {.name = "resnet50",
       .make = making<models::ResNet50>(models::ResNetOptions{.width = 4})},
      {.name = "densenet",
       .make = making<models::DenseNetBC>(models::DenseNetOptions{
           .growth = 4, .layers = {3, 3, 3}, .dropout = 0.2})},
      {.name = "swin",
       .make = making<models::Swin>(models::SwinOptions{
           .width = 8, .heads = 2, .depths = {2, 2}, .drop_path = 0.4})},
      {.name = "gpt",
       .make = making<models::GPT>(models::GPTOptions{.width = 16,
                                                      .layers = 4,
                                                      .heads = 2,
                                                      .context = 12,
                                                      .vocabulary = 32,
                                                      .dropout = 0.2}),
       .reads_text = true},
      {.name = "lstm",
       .make = making<models::CharLSTM>(models::CharLSTMOptions{
           .width = 8, .hidden = 16, .layers = 2, .vocabulary = 32}),
       .reads_text = true,
       .is_flat = true},
      {.name = "llama",
       .make = making<models::Llama>(models::LlamaOptions{.width = 16,
                                                          .hidden = 24,
                                                          .layers = 4,
                                                          .heads = 4,
                                                          .key_heads = 2,
                                                          .window = 5,
                                                          .vocabulary = 32}),
       .reads_text = true},
      {.name = "bert",
       .make = making<models::Bert>(models::BertOptions{.width = 16,
                                                        .layers = 4,
                                                        .heads = 2,
                                                        .context = 12,
                                                        .vocabulary = 32,
                                                        .dropout = 0.2}),
       .reads_text = true},
      {.name = "vit",
       .make = making<models::Vit>(models::VitOptions{
           .width = 16, .layers = 4, .heads = 2, .patch = 7, .dropout = 0.2})},
      {.name = "gru",
       .make = making<models::ImageGRU>(
           models::ImageGRUOptions{.hidden = 16, .layers = 2}),
       .is_flat = true},
      {.name = "unet",
       .make =
           making<models::UNet>(models::UNetOptions{.width = 8, .groups = 4}),
       .denoises = true}};
}

struct Batch {
  Tensor inputs;
  Tensor targets;
};

Batch batch_of(const CheckpointedCase& c) {
  if (c.reads_text) {
    return {same_integers("tokens", {8, 12}, 32),
            same_integers("targets", {8 * 12}, 32)};
  }
  if (c.denoises) {
    return {same_noisy_images(2).to(DType::kF32),
            same_noise(2).to(DType::kF32)};
  }
  return {randn({2, 1, 28, 28}), same_integers("labels", {2}, 10)};
}

Tensor loss_of(ChainModel& model, const Batch& batch) {
  return task_loss(model(batch.inputs), batch.targets);
}

// The outcome of a training: its losses, then all parameters and moments.
struct Outcome {
  std::vector<float> losses;
  std::vector<std::vector<float>> state;
  autograd::Generator::State random;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome train(const CheckpointedCase& c, const std::string& how) {
  manual_seed(7);
  const auto model = c.make();
  model->set_checkpointing(Checkpointing::parse(how));
  const Batch batch = batch_of(c);
  optim::SGD optimizer(model->named_parameters(),
                       {.learning_rate = 0.01, .momentum = 0.9});
  Outcome outcome;
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(*model, batch);
    loss.backward();
    optimizer.step();
    outcome.losses.push_back(loss.detach().item<float>());
  }
  for (const auto& [name, tensor] : model->state_dict()) {
    outcome.state.push_back(tensor.to(DType::kF32).to_vector<float>());
  }
  outcome.random = autograd::default_generator().state();
  return outcome;
}

class CheckpointedModel : public testing::TestWithParam<CheckpointedCase> {};

TEST_P(CheckpointedModel, LearnsTheSameBitsWithEveryWayOfCheckpointing) {
  const Outcome plain = train(GetParam(), "none");
  EXPECT_NE(plain.losses.front(), plain.losses.back());
  for (const std::string how : {"block", "sqrt", "budget=100%", "budget=80%",
                                "online=1TiB", "online=60%", "online=1"}) {
    if (GetParam().is_flat && how == "budget=80%") continue;
    const Outcome found = train(GetParam(), how);
    EXPECT_EQ(found.losses, plain.losses) << how;
    EXPECT_TRUE(found == plain) << how;
  }
}

TEST_P(CheckpointedModel, KeepsToAPlanThatIsAsLeanAsCanBe) {
  manual_seed(7);
  const auto model = GetParam().make();
  const Batch batch = batch_of(GetParam());
  model->set_checkpointing(Checkpointing::parse("budget=1"));
  std::string least;
  try {
    loss_of(*model, batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kResourceExhausted);
    const std::string text = error.what();
    const std::string before = "the least that is needed is ";
    ASSERT_THAT(text, HasSubstr(before));
    least = text.substr(text.find(before) + before.size());
    least = least.substr(0, least.find(' '));
  }
  ASSERT_NE(least, "");
  const Outcome plain = train(GetParam(), "none");
  EXPECT_TRUE(train(GetParam(), "budget=" + least) == plain);
  model->set_checkpointing(Checkpointing::parse("budget=" + least));
  const std::string plan = model->plan_for(batch.inputs).to_string();
  EXPECT_TRUE(train(GetParam(), "plan=" + plan) == plain) << plan;
  EXPECT_THROW(train(GetParam(), "plan=0"), InvalidArgument);
}

TEST_P(CheckpointedModel, IsNotCheckpointedWithoutRecording) {
  const auto model = GetParam().make();
  model->eval();
  const Batch batch = batch_of(GetParam());
  const NoGrad no_grad;
  const auto plain = (*model)(batch.inputs).to_vector<float>();
  for (const std::string how : {"block", "sqrt", "budget=1", "online=50%"}) {
    model->set_checkpointing(Checkpointing::parse(how));
    EXPECT_EQ((*model)(batch.inputs).to_vector<float>(), plain) << how;
  }
}

INSTANTIATE_TEST_SUITE_P(, CheckpointedModel,
                         testing::ValuesIn(checkpointed_cases()),
                         [](const auto& test) { return test.param.name; });

// The bytes that forward leaves for backward.
std::int64_t kept_bytes(ChainModel& model, const Tensor& images) {
  const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
  const Tensor out = model(images);
  return autograd::cpu_allocator().stats().current_bytes - before;
}

// Item 205.
TEST(DenseNet, KeepsTheOutputsOfLayersByBlock) {
  const Tensor images = randn({4, 1, 16, 16});
  const auto kept = [&](std::int64_t layers, const std::string& how) {
    models::DenseNetBC model({.growth = 8, .layers = {layers}});
    model.set_checkpointing(Checkpointing::parse(how));
    return static_cast<double>(kept_bytes(model, images));
  };
  // Twice the layers: about twice the bytes, not four times.
  EXPECT_LT(kept(32, "block"), 2.5 * kept(16, "block"));
  EXPECT_GT(kept(32, "none"), 2.9 * kept(16, "none"));
  EXPECT_LT(kept(32, "block"), 0.4 * kept(32, "none"));
}

// Item 205.
TEST(DenseNet, RunsALayerPlainlyIfItsInputsNeedNoGradient) {
  models::DenseLayer layer(8, {.growth = 4});
  const auto recomputed = [&](const std::vector<Tensor>& features) {
    const Tensor y = layer.run_efficiently(features, false);
    int norms = 0;
    auto handle = layer.children()[0]->register_forward_hook(
        [&](nn::Module&, const Tensor&, const Tensor&) { ++norms; });
    y.sum().backward();
    handle.remove();
    return norms;
  };
  const Tensor frozen = randn({2, 4, 5, 5});
  EXPECT_EQ(recomputed({frozen, frozen}), 0);
  EXPECT_EQ(recomputed({frozen, randn({2, 4, 5, 5}, {.requires_grad = true})}),
            1);
}

// Item 206.
TEST(Swin, KeepsByBlockTheirInputs) {
  models::Swin model({.width = 16, .heads = 1, .depths = {2, 2}});
  const Tensor images = randn({4, 1, 28, 28});
  const std::int64_t all = kept_bytes(model, images);
  model.set_checkpointing(Checkpointing::parse("block"));
  EXPECT_LT(kept_bytes(model, images), all / 4);
  EXPECT_EQ(model.plan_for(images).to_string(),
            "0 (1 2) (3 4) 5 (6 7) (8 9) 10");
}

TEST(GPT, KeepsToItsBudgetsWithLittleRecomputation) {
  models::GPT model({.width = 64, .layers = 6, .heads = 2, .context = 64});
  const Batch batch{same_integers("tokens", {4, 64}, 256),
                    same_integers("targets", {256}, 256)};
  // Allocates the gradients.
  loss_of(model, batch).backward();
  const auto peak = [&](const std::string& how) {
    model.set_checkpointing(Checkpointing::parse(how));
    loss_of(model, batch).backward();  // Measures, if need be.
    auto& memory = autograd::cpu_allocator();
    memory.reset_peak();
    const std::int64_t before = memory.stats().current_bytes;
    loss_of(model, batch).backward();
    return static_cast<double>(memory.stats().peak_bytes - before);
  };
  const double all = peak("none");
  EXPECT_LT(peak("block"), 0.5 * all);
  EXPECT_LT(peak("sqrt"), 0.6 * all);
  EXPECT_LT(peak("budget=50%"), 0.6 * all);
  EXPECT_LT(peak("online=50%"), 0.7 * all);
  EXPECT_EQ(peak("online=1GiB"), all);
  EXPECT_EQ(model.online_stats().dropped, 0);
  peak("online=50%");
  EXPECT_GT(model.online_stats().dropped, 0);
  EXPECT_LT(model.online_stats().dropped, model.online_stats().regions);
}

}  // namespace
}  // namespace hvd
