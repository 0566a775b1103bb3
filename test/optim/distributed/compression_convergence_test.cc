// SPDX-License-Identifier: Apache-2.0
// Training with compressed gradients reaches the same loss as training without
// compression.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/compression/compressors.h"
#include "horovodpp/data/idx_reader.h"
#include "horovodpp/nn.h"
#include "horovodpp/ops/functional/losses.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kImages = 2048;
constexpr std::int64_t kSharedBatch = 64;  // Of both ranks.
constexpr int kPasses = 4;

struct Compression {
  const char* name;
  std::shared_ptr<compression::Compressor> (*make)();
  double tolerance;  // Of the loss, relative to that without compression.

  friend void PrintTo(const Compression& compression, std::ostream* out) {
    *out << compression.name;
  }
};

struct Images {
  Tensor pixels;  // float32[kImages, 784], from -1 to 1.
  Tensor labels;  // int64[kImages]
};

const Images& images() {
  static const Images all = [] {
    const std::string folder = "/usr/share/datasets/fashion-mnist/";
    const Tensor pixels = data::read_idx(folder + "train-images-idx3-ubyte.gz")
                              .narrow(0, 0, kImages)
                              .to(DType::kF32)
                              .reshape({kImages, 784});
    return Images{(pixels / 127.5 - 1.0).contiguous(),
                  data::read_idx(folder + "train-labels-idx1-ubyte.gz")
                      .narrow(0, 0, kImages)
                      .to(DType::kI64)
                      .contiguous()};
  }();
  return all;
}

struct Trained {
  double loss;   // Of all images, after the last step.
  double share;  // Of the gradients' bytes: the part that was sent.
};

using MakeCompressor =
    std::function<std::shared_ptr<compression::Compressor>()>;

Trained train(const MakeCompressor& make) {
  images();  // Loads them before ranks use them.
  return run_ranks(2, [&] {
    manual_seed(7);
    nn::Sequential model(std::make_shared<nn::Linear>(784, 64),
                         std::make_shared<nn::ReLU>(),
                         std::make_shared<nn::Linear>(64, 10));
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(
            model.named_parameters(),
            SGDOptions{.learning_rate = 0.05, .momentum = 0.5}),
        {.groups = 1, .compression = make()});
    for (int epoch = 0; epoch < kPasses; ++epoch) {
      for (std::int64_t at = 0; at < kImages; at += kSharedBatch) {
        const std::int64_t mine = at + rank() * (kSharedBatch / 2);
        optimizer.zero_grad();
        cross_entropy(model(images().pixels.narrow(0, mine, kSharedBatch / 2)),
                      images().labels.narrow(0, mine, kSharedBatch / 2))
            .backward();
        optimizer.step();
      }
    }
    NoGrad no_grad;
    const replica::ReducerStats stats = optimizer.reduced();
    return Trained{static_cast<double>(
                       cross_entropy(model(images().pixels), images().labels)
                           .item<float>()),
                   static_cast<double>(stats.sent_bytes) /
                       static_cast<double>(stats.bytes)};
  })[0];
}

class CompressionConvergence : public ::testing::TestWithParam<Compression> {};

TEST_P(CompressionConvergence, ReachesTheLossOfPlainGradients) {
  static const Trained plain = train([] { return nullptr; });
  const Trained compressed = train(GetParam().make);
  RecordProperty("loss", std::to_string(compressed.loss));
  EXPECT_EQ(plain.share, 1.0);
  EXPECT_LT(plain.loss, 0.6);
  EXPECT_LT(compressed.share, 0.51);
  EXPECT_LT(compressed.loss, plain.loss * (1 + GetParam().tolerance))
      << "plain " << plain.loss << ", share " << compressed.share;
}

using Shared = std::shared_ptr<compression::Compressor>;
const Compression kCompressions[] = {
    {"fp16", [] { return Shared(compression::fp16()); }, 0.01},
    {"bf16", [] { return Shared(compression::bf16()); }, 0.01},
    {"int8", [] { return Shared(compression::int8_blocks()); }, 0.01},
    {"topk", [] { return Shared(compression::top_k(0.02)); }, 0.10},
    {"powersgd", [] { return Shared(compression::power_sgd(4)); }, 0.05},
    {"signs", [] { return Shared(compression::signs()); }, 0.15}};

INSTANTIATE_TEST_SUITE_P(FashionMnist, CompressionConvergence,
                         ::testing::ValuesIn(kCompressions),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

TEST(Compression, WarnsIfItCannotPay) {
  run_ranks(3, [] {
    std::vector<std::string> said;
    const autograd::Warnings scope(
        [&](const std::string& text) { said.push_back(text); });
    const Tensor w = zeros({1}, {.requires_grad = true});
    const auto make = [&](Shared compressor) {
      DistributedOptimizer(
          std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                                SGDOptions{.learning_rate = 1}),
          {.compression = std::move(compressor)});
    };
    make(nullptr);
    EXPECT_TRUE(said.empty());
    make(compression::top_k(1.0));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0], HasSubstr("'top-k' among 3 ranks brings 4 bytes"));
    make(compression::bf16());
    ASSERT_EQ(said.size(), 2u);
    EXPECT_THAT(said[1], HasSubstr("a job of one node"));
  });
}

// The state of compression is part of the optimizer's state.
TEST(Compression, GoesOnFromACheckpoint) {
  run_ranks(2, [] {
    Tensor w = zeros({8, 40}, {.requires_grad = true});
    const auto make = [&] {
      return std::make_unique<DistributedOptimizer>(
          std::make_unique<SGD>(
              std::vector<nn::NamedTensor>{{"w", w}},
              SGDOptions{.learning_rate = 1, .momentum = 0.5}),
          DistributedOptions{.compression = compression::power_sgd(1)});
    };
    const auto step = [&](DistributedOptimizer& optimizer, int number) {
      optimizer.zero_grad();
      (w * arange(0, 320).to(DType::kF32).reshape({8, 40}) * (rank() + number) *
           0.001 +
       sin(w))
          .sum()
          .backward();
      optimizer.step();
    };
    auto optimizer = make();
    step(*optimizer, 1);
    nn::StateDict saved = optimizer->state_dict();
    for (auto& [name, tensor] : saved) tensor = tensor.clone();
    const std::vector<float> weights = w.to_vector<float>();
    step(*optimizer, 2);
    const std::vector<float> expected = w.to_vector<float>();
    optimizer.reset();
    optimizer = make();
    optimizer->load_state_dict(saved);
    {
      NoGrad no_grad;
      w.copy_(from_vector<float>(weights, {8, 40}));
    }
    step(*optimizer, 2);
    EXPECT_EQ(w.to_vector<float>(), expected);
  });
}

}  // namespace
}  // namespace hvd::optim
