// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> keys(const StateDict& state) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : state) result.push_back(name);
  return result;
}

// Two layers share a weight; one of two buffers is persistent.
struct Tied : Module {
  Tied() {
    in = register_module("in", std::make_shared<Linear>(3, 3));
    register_parameter("head", in->weight());
    register_buffer("count", full({}, 7));
    register_buffer("scratch", zeros({4}), /*persistent=*/false);
  }
  Tensor forward(const Tensor& x) override { return (*in)(x); }
  std::shared_ptr<Linear> in;
};

std::string complaint(Module& model, const StateDict& state,
                      const LoadOptions& options = {}) {
  try {
    model.load_state_dict(state, options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

TEST(StateDict, HasParametersAndPersistentBuffersOnce) {
  const Tied model;
  EXPECT_THAT(keys(model.state_dict()),
              ElementsAre("head", "count", "in.bias"));
  EXPECT_EQ(model.state_dict()[0].tensor.raw_data(),
            model.in->weight().raw_data());
  EXPECT_FALSE(model.state_dict()[0].tensor.requires_grad());
}

TEST(StateDict, MakesAnotherModelEqual) {
  Tied from, to;
  ASSERT_NE(from.in->weight().to_vector<float>(),
            to.in->weight().to_vector<float>());
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(from.in->weight().to_vector<float>(),
            to.in->weight().to_vector<float>());
  EXPECT_TRUE(to.in->weight().requires_grad());
}

TEST(StateDict, IsSavedAndLoaded) {
  TemporaryFolder folder;
  Tied from, to;
  from.save(folder.path("model"));
  to.load(folder.path("model"));
  EXPECT_EQ(from.in->bias().to_vector<float>(),
            to.in->bias().to_vector<float>());
  const Linear other(2, 2);
  other.save(folder.path("other"));
  EXPECT_ERROR(InvalidArgument, folder.path("other"),
               to.load(folder.path("other")));
}

TEST(StateDict, TakesASharedTensorUnderAnyName) {
  Tied from, to;
  StateDict state = from.state_dict();
  state[0].name = "in.weight";
  to.load_state_dict(state);
  EXPECT_EQ(from.in->weight().to_vector<float>(),
            to.in->weight().to_vector<float>());
  state.push_back({"head", state[0].tensor});
  to.load_state_dict(state);
}

TEST(StateDict, NamesMissingAndUnknownKeys) {
  Tied model;
  StateDict state = model.state_dict();
  state.pop_back();
  state.push_back({"extra", ones({1})});
  const std::string text = complaint(model, state, {.source = "'here'"});
  EXPECT_THAT(text, HasSubstr("'here'"));
  EXPECT_THAT(text, HasSubstr("lacks 'in.bias'"));
  EXPECT_THAT(text, HasSubstr("unknown 'extra'"));
  const LoadResult result = model.load_state_dict(state, {.strict = false});
  EXPECT_THAT(result.missing, ElementsAre("in.bias"));
  EXPECT_THAT(result.unknown, ElementsAre("extra"));
}

TEST(StateDict, RefusesAnotherShapeOrDtypeWithoutChanges) {
  Tied model;
  const auto before = model.in->weight().to_vector<float>();
  StateDict state = Tied().state_dict();
  state.back().tensor = ones({2});
  std::string text = complaint(model, state);
  EXPECT_THAT(text, HasSubstr("shape of 'in.bias'"));
  EXPECT_THAT(text, HasSubstr("expected float32[3], found float32[2]"));
  state.back().tensor = ones({3}, {.dtype = DType::kF64});
  text = complaint(model, state);
  EXPECT_THAT(text, HasSubstr("dtype of 'in.bias'"));
  EXPECT_THAT(text, HasSubstr("found float64[3]"));
  state.back().tensor = Tensor();
  EXPECT_THAT(complaint(model, state), HasSubstr("no tensor"));
  EXPECT_EQ(model.in->weight().to_vector<float>(), before);
}

TEST(StateDict, ConvertsIfAsked) {
  Tied model;
  StateDict state = model.state_dict();
  state.back().tensor = full({3}, 0.5, {.dtype = DType::kF64});
  model.load_state_dict(state, {.convert = true});
  EXPECT_THAT(model.in->bias().to_vector<float>(), ElementsAre(.5, .5, .5));
}

TEST(StateDict, SeveralShareOneFileByTheirPrefixes) {
  StateDict all = with_prefix("a.", {{"x", count_tensor(1)}});
  append(all, with_prefix("b.", {{"x", scalar_tensor(0.1)}}));
  EXPECT_THAT(keys(all), ElementsAre("a.x", "b.x"));
  EXPECT_EQ(count_of(without_prefix("a.", all)[0]), 1);
  EXPECT_EQ(scalar_of(without_prefix("b.", all)[0]), 0.1);
  EXPECT_THROW(scalar_of(all[0]), InvalidArgument);
  EXPECT_THROW(count_of({"n", ones({2})}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
