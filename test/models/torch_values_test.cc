// SPDX-License-Identifier: Apache-2.0
// The models compute the same as PyTorch's with equal weights and inputs:
// logits, loss, gradients, and the losses of 20 steps of SGD. The numbers are
// from test/fixtures/make_model_fixtures.py.
//
// Logits are compared relative to the largest logit, losses and norms of
// gradients relative to themselves, samples of a gradient relative to its norm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <set>

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

constexpr std::int64_t kBatch = 4;
constexpr int kSteps = 20;

// One of TINY in torch_models.py.
struct Case {
  std::string name;
  std::function<std::unique_ptr<nn::Module>()> make;
  bool reads_text = false;
  bool denoises = false;
  double rate = 0.005;  // As RATES in the script.
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

template <typename M, typename... Options>
auto maker(Options... options) {
  return [=] { return std::make_unique<M>(options...); };
}

std::vector<Case> all_cases() {
  return {{.name = "mlp", .make = maker<models::Mlp>()},
          {.name = "lenet", .make = maker<models::LeNet>()},
          {.name = "resnet18",
           .make = maker<models::ResNet18>(models::ResNetOptions{.width = 4}),
           .rate = 0.0015},
          {.name = "densenet",
           .make = maker<models::DenseNetBC>(
               models::DenseNetOptions{.growth = 4, .layers = {2, 2, 2}})},
          {.name = "gpt",
           .make = maker<models::GPT>(models::GPTOptions{.width = 16,
                                                         .layers = 2,
                                                         .heads = 2,
                                                         .context = 12,
                                                         .vocabulary = 32}),
           .reads_text = true},
          {.name = "lstm",
           .make = maker<models::CharLSTM>(models::CharLSTMOptions{
               .width = 8, .hidden = 16, .layers = 2, .vocabulary = 32}),
           .reads_text = true},
          {.name = "swin",
           .make = maker<models::Swin>(
               models::SwinOptions{.width = 8, .heads = 2, .depths = {2, 2}})},
          {.name = "llama",
           .make = maker<models::Llama>(models::LlamaOptions{.width = 16,
                                                             .hidden = 24,
                                                             .layers = 2,
                                                             .heads = 4,
                                                             .key_heads = 2,
                                                             .window = 5,
                                                             .vocabulary = 32}),
           .reads_text = true},
          {.name = "bert",
           .make = maker<models::Bert>(models::BertOptions{.width = 16,
                                                           .layers = 2,
                                                           .heads = 2,
                                                           .context = 12,
                                                           .vocabulary = 32}),
           .reads_text = true},
          {.name = "vit",
           .make = maker<models::Vit>(models::VitOptions{
               .width = 16, .layers = 2, .heads = 2, .patch = 7})},
          {.name = "gru",
           .make = maker<models::ImageGRU>(
               models::ImageGRUOptions{.hidden = 16, .layers = 2})},
          {.name = "unet",
           .make = maker<models::UNet>(
               models::UNetOptions{.width = 8, .groups = 4}),
           .denoises = true}};
}

struct Step {
  Tensor inputs;
  Tensor targets;
};

Step make_batch(const Case& c, DType dtype) {
  if (c.reads_text) {
    const Tensor tokens = same_integers("tokens", {kBatch, 13}, 32);
    return {tokens.narrow(1, 0, 12), tokens.narrow(1, 1, 12).reshape({-1})};
  }
  if (c.denoises) {
    return {same_noisy_images(kBatch).to(dtype), same_noise(kBatch).to(dtype)};
  }
  // The perceptron's images are [n, 784]: the same name, so the same numbers.
  return {same_uniform("images", {kBatch, 1, 28, 28}).to(dtype),
          same_integers("labels", {kBatch}, 10)};
}

double largest(const Tensor& x) {
  return max(abs(x.detach().to(DType::kF64))).item<double>();
}

double norm_of(const Tensor& x) {
  return std::sqrt(autograd::sum_of_squares(x));
}

// Up to four elements spread over x, in float64.
std::vector<double> samples_of(const Tensor& x) {
  const auto all = x.to(DType::kF64).to_vector<double>();
  const std::size_t count = std::min<std::size_t>(4, all.size());
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(all[count == 1 ? 0 : (all.size() - 1) * i / (count - 1)]);
  }
  return result;
}

class Wanted {
 public:
  Wanted(const Case& c, DType dtype)
      : prefix_(c.name + "." + std::string(name_of(dtype)) + ".") {}
  Tensor tensor(const std::string& entry) const {
    static const auto file = read_fixture("models.safetensors");
    return file.at(prefix_ + entry).to(DType::kF64);
  }
  std::vector<double> values(const std::string& entry) const {
    return tensor(entry).to_vector<double>();
  }

 private:
  const std::string prefix_;
};

void expect_gradients(const nn::Module& model, const Wanted& wanted,
                      double tolerance) {
  auto named = model.named_parameters();
  std::sort(named.begin(), named.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto norms = wanted.values("norms");
  const auto samples = wanted.values("samples");
  ASSERT_EQ(named.size(), norms.size());
  // A gradient that is 0 except for rounding, such as of a bias before a
  // normalization, is compared relative to the largest norm.
  const double floor = 1e-3 * *std::max_element(norms.begin(), norms.end());
  std::size_t next = 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const double scale = std::max(norms[i], floor);
    EXPECT_NEAR(norm_of(named[i].tensor.grad()), norms[i], tolerance * scale)
        << named[i].name;
    for (const double sample : samples_of(named[i].tensor.grad())) {
      ASSERT_LT(next, samples.size());
      EXPECT_NEAR(sample, samples[next++], tolerance * scale) << named[i].name;
    }
  }
  EXPECT_EQ(next, samples.size());
}

class PyTorchsModel : public testing::TestWithParam<Case> {
 protected:
  void hold_to(DType dtype, double tolerance) {
    const Wanted wanted(GetParam(), dtype);
    const auto model = GetParam().make();
    fill_with_same_numbers(*model);
    model->to(dtype);
    const Step step = make_batch(GetParam(), dtype);
    optim::SGD optimizer(model->named_parameters(),
                         {.learning_rate = GetParam().rate, .momentum = 0.9});
    const auto curve = wanted.values("curve");
    ASSERT_EQ(curve.size(), static_cast<std::size_t>(kSteps));
    for (std::size_t i = 0; i < curve.size(); ++i) {
      optimizer.zero_grad();
      const Tensor logits = (*model)(step.inputs);
      const Tensor loss = task_loss(logits, step.targets);
      loss.backward();
      const double found = loss.detach().to(DType::kF64).item<double>();
      if (i == 0) {
        expect_logits(logits, wanted.tensor("logits"), tolerance);
        EXPECT_NEAR(found, wanted.values("loss")[0], tolerance * found);
        expect_gradients(*model, wanted, tolerance);
      }
      EXPECT_NEAR(found, curve[i], tolerance * curve[i]) << "step " << i;
      optimizer.step();
    }
  }

  static void expect_logits(const Tensor& found, const Tensor& wanted,
                            double tolerance) {
    ASSERT_EQ(found.shape(), wanted.shape());
    EXPECT_LE(largest(found.detach().to(DType::kF64) - wanted),
              tolerance * largest(wanted));
  }
};

TEST_P(PyTorchsModel, ComputesTheSameInFloat32) { hold_to(DType::kF32, 1e-5); }

TEST_P(PyTorchsModel, ComputesTheSameInFloat64) { hold_to(DType::kF64, 1e-12); }

INSTANTIATE_TEST_SUITE_P(, PyTorchsModel, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(PyTorchsModels, AreAllTested) {
  std::set<std::string> wanted, found;
  for (const auto& [name, tensor] : read_fixture("models.safetensors")) {
    wanted.insert(name.substr(0, name.find('.')));
  }
  for (const Case& c : all_cases()) found.insert(c.name);
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace hvd
