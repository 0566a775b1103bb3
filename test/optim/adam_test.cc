// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/adam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/support/temporary_folder.h"

namespace hvd::optim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const std::vector<nn::NamedTensor>& tensors) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

Tensor leaf(const Tensor& values) {
  return values.clone().detach().set_requires_grad(true);
}

TEST(Adam, MovesByTheRateAtFirst) {
  Tensor w = full({3}, 1.0).set_requires_grad(true);
  Adam optimizer(std::vector<Tensor>{w}, {.learning_rate = 0.25});
  w.set_grad(from_vector<float>({5, -1, 0.01f}, {3}));
  optimizer.step();
  EXPECT_NEAR(w.to_vector<float>()[0], 0.75f, 1e-5f);
  EXPECT_NEAR(w.to_vector<float>()[1], 1.25f, 1e-5f);
  EXPECT_NEAR(w.to_vector<float>()[2], 0.75f, 1e-5f);
}

TEST(AdamW, StaysAdamWWithTheStateOfAnAdam) {
  const Tensor w = ones({1}, {.requires_grad = true});
  const Tensor other = ones({1}, {.requires_grad = true});
  Adam source({{"w", ones({1}, {.requires_grad = true})}},
              {.learning_rate = 0.5, .weight_decay = 0.5});
  AdamW loaded({{"w", w}});
  loaded.load_state_dict(source.state_dict());
  AdamW reference({{"w", other}}, {.learning_rate = 0.5, .weight_decay = 0.5});
  for (const Tensor& p : {w, other}) p.set_grad(ones({1}));
  loaded.step();
  reference.step();
  EXPECT_EQ(w.item<float>(), other.item<float>());
  EXPECT_NEAR(w.item<float>(), 0.25f, 1e-5f);
}

TEST(Adam, KeepsTheMomentsItNeeds) {
  Tensor w = ones({2}, {.requires_grad = true});
  Adam optimizer({{"w", w}}, {.amsgrad = true});
  EXPECT_TRUE(optimizer.state().empty());
  optimizer.step();  // Without a gradient.
  EXPECT_TRUE(optimizer.state().empty());
  w.set_grad(ones({2}));
  optimizer.step();
  EXPECT_THAT(
      names(optimizer.state()),
      ElementsAre("w.step", "w.exp_avg", "w.exp_avg_sq", "w.max_exp_avg_sq"));
}

// Sizes around the sizes of vectors and of blocks; parameters by rows, by
// columns and with gaps; every type against float64.
TEST(Adam, MovesParametersOfAnyTypeSizeAndLayout) {
  for (const DType dtype :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const double tolerance = dtype == DType::kF64   ? 1e-12
                             : dtype == DType::kF32 ? 1e-5
                                                    : 0.05;
    for (const std::int64_t n : {1, 7, 8, 33, 513}) {
      manual_seed(5);
      const Tensor start = randn({n, 2}, {.dtype = DType::kF64});
      const Tensor exact = leaf(start);
      const Tensor rows = leaf(start.to(dtype));
      Tensor columns = start.t().clone().to(dtype).t().detach();
      columns.set_requires_grad(true);
      Tensor gaps = zeros({n, 5}, {.dtype = dtype}).narrow(1, 1, 2).detach();
      gaps.copy_(start.to(dtype));
      gaps.set_requires_grad(true);
      AdamW reference(std::vector<Tensor>{exact},
                      {.learning_rate = 0.1, .amsgrad = true});
      AdamW optimizer(std::vector<Tensor>{rows, columns, gaps},
                      {.learning_rate = 0.1, .amsgrad = true});
      for (int step = 0; step < 3; ++step) {
        const Tensor gradient = randn({n, 2}, {.dtype = DType::kF64}).to(dtype);
        exact.set_grad(gradient.to(DType::kF64));
        for (const Tensor& p : {rows, columns, gaps}) p.set_grad(gradient);
        reference.step();
        optimizer.step();
      }
      const auto wanted = exact.to_vector<double>();
      for (const Tensor& p : {rows, columns, gaps}) {
        const auto found = p.to(DType::kF64).to_vector<double>();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_NEAR(found[i], wanted[i], tolerance) << n;
        }
      }
    }
  }
}

TEST(Adam, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = ones({1}, {.requires_grad = true});
  Tensor b = ones({1}, {.requires_grad = true});
  AdamW optimizer(std::vector<ParameterGroup<AdamWOptions>>{
      {.parameters = {{"a", a}},
       .options = {.learning_rate = 0.5, .weight_decay = 1.0}},
      {.parameters = {{"b", b}},
       .options = {.learning_rate = 0.5, .weight_decay = 0.0}}});
  a.set_grad(zeros({1}));
  b.set_grad(zeros({1}));
  optimizer.step();
  EXPECT_EQ(a.item<float>(), 0.5f);
  EXPECT_EQ(b.item<float>(), 1.0f);
  EXPECT_EQ(optimizer.num_groups(), 2u);
  EXPECT_EQ(optimizer.options(0).weight_decay, 1.0);
  optimizer.set_learning_rate(0.25);
  EXPECT_THAT(optimizer.learning_rates(), ElementsAre(0.25, 0.25));
  optimizer.set_learning_rates({0.1, 0.2});
  EXPECT_EQ(optimizer.options(1).learning_rate, 0.2);
  EXPECT_THROW(optimizer.set_learning_rates({0.1}), InvalidArgument);
  EXPECT_THROW(optimizer.set_learning_rates({0.3, -1}), InvalidArgument);
  EXPECT_EQ(optimizer.options(0).learning_rate, 0.1);
  EXPECT_THROW(optimizer.options(2), InvalidArgument);
  EXPECT_THROW(optimizer.set_options(2, {}), InvalidArgument);
}

TEST(Adam, RefusesInvalidOptions) {
  Tensor w = ones({1}, {.requires_grad = true});
  const std::vector<Tensor> one{w};
  EXPECT_THROW(Adam(one, {.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(Adam(one, {.beta1 = 1}), InvalidArgument);
  EXPECT_THROW(Adam(one, {.beta2 = -0.1}), InvalidArgument);
  EXPECT_THROW(Adam(one, {.eps = -1}), InvalidArgument);
  EXPECT_THROW(AdamW(one, {.weight_decay = -1}), InvalidArgument);
}

// An optimizer that loads the state saved after a few steps continues to the
// same bits.
TEST(Adam, GoesOnExactlyFromAFile) {
  TemporaryFolder folder;
  manual_seed(1);
  const Tensor start = randn({5, 3});
  Tensor a = leaf(start);
  Adam first({{"w.x", a}}, {.learning_rate = 0.1, .amsgrad = true});
  const auto step = [](Optimizer& optimizer, const Tensor& w, int i) {
    w.set_grad(full({5, 3}, 0.1 * i));
    optimizer.step();
  };
  for (int i = 0; i < 5; ++i) step(first, a, i);
  nn::save_safetensors(folder.path("o"), first.state_dict());

  // By columns, and with other options, which loading replaces.
  Tensor b = a.detach().t().clone().t().detach().set_requires_grad(true);
  Adam second({{"w.x", b}});
  second.load_state_dict(nn::load_safetensors(folder.path("o")).tensors);
  EXPECT_EQ(second.options().learning_rate, 0.1);
  EXPECT_TRUE(second.options().amsgrad);
  for (int i = 5; i < 9; ++i) {
    step(first, a, i);
    step(second, b, i);
  }
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
}

std::string complaint(Optimizer& optimizer, const nn::StateDict& state) {
  try {
    optimizer.load_state_dict(state, {.source = "'file'"});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Adam, ReportsWhyAStateDoesNotFit) {
  Tensor w = ones({2}, {.requires_grad = true});
  Adam optimizer({{"w", w}}, {.learning_rate = 0.1});
  w.set_grad(ones({2}));
  optimizer.step();
  const nn::StateDict good = optimizer.state_dict();
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    nn::StateDict state = good;
    for (auto& entry : state) {
      if (entry.name == name) entry.tensor = tensor;
    }
    return state;
  };
  const auto without = [&](const std::string& name) {
    nn::StateDict state;
    for (const auto& entry : good) {
      if (entry.name != name) state.push_back(entry);
    }
    return state;
  };
  const auto plus = [&](const std::string& name) {
    nn::StateDict state = good;
    state.push_back({name, nn::scalar_tensor(1)});
    return state;
  };
  EXPECT_EQ(complaint(optimizer, good), "nothing");
  EXPECT_THAT(complaint(optimizer, with("state.w.exp_avg", ones({3}))),
              HasSubstr("expected float32[2], found float32[3]"));
  EXPECT_THAT(complaint(optimizer, with("state.w.step", ones({}))),
              HasSubstr("dtype of 'state.w.step'"));
  EXPECT_THAT(complaint(optimizer, with("state.w.step", nn::count_tensor(-1))),
              HasSubstr("negative"));
  EXPECT_THAT(complaint(optimizer, with("groups.0.eps", ones({2}))),
              HasSubstr("'groups.0.eps'"));
  EXPECT_THAT(
      complaint(optimizer, with("groups.0.beta1", nn::scalar_tensor(2))),
      HasSubstr("beta1"));
  EXPECT_THAT(complaint(optimizer, without("groups.0.eps")),
              HasSubstr("lacks 'groups.0.eps'"));
  EXPECT_THAT(complaint(optimizer, without("state.w.exp_avg_sq")),
              HasSubstr("lacks 'state.w.exp_avg_sq'"));
  for (const char* name :
       {"groups.1.eps", "groups.x", "groups.", "state.v.step", "state.w.other",
        "state.w", "state.", "other", ""}) {
    EXPECT_THAT(complaint(optimizer, plus(name)), HasSubstr("unknown")) << name;
  }
  const auto after = optimizer.state_dict();
  EXPECT_EQ(after.size(), good.size());
  EXPECT_EQ(optimizer.options().beta1, 0.9);
}

TEST(Adam, AStepCountsAsAWrite) {
  Tensor w = ones({2}, {.requires_grad = true});
  Adam optimizer(std::vector<Tensor>{w});
  Tensor y = (w * w).sum();
  w.set_grad(ones({2}));
  optimizer.step();
  EXPECT_THROW(y.backward(), autograd::VersionError);
}

}  // namespace
}  // namespace hvd::optim
