// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;

struct TwoLayers : nn::Module {
  Tensor forward(const Tensor& x) override {
    return (*last)(relu((*first)(x)));
  }
  std::shared_ptr<nn::Linear> first =
      register_module("first", std::make_shared<nn::Linear>(100, 200));
  std::shared_ptr<nn::Linear> last =
      register_module("last", std::make_shared<nn::Linear>(200, 10));
};

constexpr std::int64_t kParameters = 4 * (100 * 200 + 200 + 200 * 10 + 10);

std::map<std::string, std::int64_t> categories(const MemoryReport& report) {
  return {report.categories.begin(), report.categories.end()};
}

std::int64_t sum(const MemoryReport& report) {
  std::int64_t all = 0;
  for (const auto& [category, bytes] : report.categories) all += bytes;
  return all;
}

TEST(MemoryWatch, DividesThePeakOfAStepByPurpose) {
  TwoLayers model;
  SGD optimizer(model.named_parameters(),
                {.learning_rate = 0.1, .momentum = 0.9});
  const Tensor batch = zeros({64, 100});
  MemoryWatch watch(model, &optimizer);
  for (int step = 0; step < 2; ++step) {
    watch.phase("forward");
    const Tensor loss = model(batch).mean();
    watch.phase("backward");
    loss.backward();
    watch.phase("step");
    optimizer.step();
  }
  const MemoryReport report = watch.report();
  auto bytes = categories(report);
  EXPECT_EQ(bytes["parameters"], kParameters);
  EXPECT_EQ(bytes["gradients"], kParameters);
  EXPECT_EQ(bytes["optimizer state"], kParameters);
  EXPECT_EQ(sum(report), report.peak_bytes);
  EXPECT_FALSE(report.phase.empty());
  EXPECT_GE(report.after_ms, 0);
  ASSERT_EQ(report.largest.size(), 10u);
  EXPECT_EQ(report.largest[0].bytes, 4 * 100 * 200);
  const std::string text = report.text();
  EXPECT_THAT(text, HasSubstr("parameters: first.weight"));
  EXPECT_THAT(text, HasSubstr("gradients: gradient of first.weight"));
  EXPECT_THAT(text, HasSubstr("optimizer state: first.weight."));
}

TEST(MemoryWatch, NamesWhatForwardSaves) {
  TwoLayers model;
  const Tensor batch = zeros({1024, 100});
  MemoryWatch watch(model);
  watch.phase("forward");
  const Tensor loss = model(batch).mean();
  const MemoryReport report = watch.report();
  // The batch is older than the watch, and so only in its sum.
  EXPECT_GE(categories(report)["saved for backward"], 4 * 1024 * 200);
  EXPECT_GE(categories(report)["tensors from before"], 4 * 1024 * 100);
  EXPECT_EQ(report.phase, "forward");
  EXPECT_EQ(report.largest[0].category, "saved for backward");
  EXPECT_THAT(report.largest[0].name, HasSubstr("float32[1024,200] of "));
}

TEST(MemoryWatch, ShowsThatACheckpointSavesLess) {
  const auto saved = [](bool checkpoints) {
    TwoLayers model;
    const Tensor batch = zeros({1024, 100});
    MemoryWatch watch(model);
    const auto forward = [&](const Tensor& x) { return model(x); };
    const Tensor out =
        checkpoints ? hvd::checkpoint(forward, batch) : forward(batch);
    const Tensor again = zeros({1024, 300});  // The peak.
    return categories(watch.report())["saved for backward"];
  };
  EXPECT_LT(saved(true), saved(false));
}

TEST(MemoryWatch, OneExistsAtATime) {
  const TwoLayers model;
  const MemoryWatch watch(model);
  EXPECT_THROW(MemoryWatch{model}, Error);
}

}  // namespace
}  // namespace hvd::optim
