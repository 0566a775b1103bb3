// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "horovodpp/nn.h"
#include "horovodpp/ops.h"
#include "horovodpp/optim/distributed/broadcast_state.h"
#include "horovodpp/optim/distributed/checksum.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// It has a buffer that each forward changes, and random numbers.
class Model : public nn::Module {
 public:
  Tensor forward(const Tensor& input) override {
    {
      const NoGrad no_grad;
      calls_.add_(1.0f);
    }
    return (*last_)(dropout(relu((*first_)(input)), 0.5)) +
           calls_.detach().clone();
  }

 private:
  std::shared_ptr<nn::Linear> first_ =
      register_module("first", std::make_shared<nn::Linear>(4, 8));
  std::shared_ptr<nn::Linear> last_ =
      register_module("last", std::make_shared<nn::Linear>(8, 2));
  Tensor calls_ = register_buffer("calls", zeros({1}));
};

std::shared_ptr<Model> model_of(std::uint64_t seed) {
  autograd::default_generator().seed(seed);
  return std::make_shared<Model>();
}

Tensor batch_of_rank() {
  return from_vector<float>({1, 2, 3, 4, 5, 6, 7, 8.0f + float(rank())},
                            {2, 4});
}

TEST(Verify, ASoundTrainingHasNoProblems) {
  run_ranks(3, [] {
    const auto model = model_of(1);
    const auto report = verify(*model, batch_of_rank());
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_THAT(report.notes, IsEmpty());
    EXPECT_THAT(report.summary, HasSubstr("a step reduces 4 gradients"));
    EXPECT_THAT(report.summary, HasSubstr("of tensors at most"));
  });
}

TEST(Verify, ChangesNothing) {
  run_ranks(2, [] {
    const auto model = model_of(1);
    // Its hooks would send the gradients of a backward.
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(model->named_parameters(), SGDOptions{}));
    const nn::StateDict before = [&] {
      nn::StateDict copy = model->state_dict();
      for (auto& [name, tensor] : copy) tensor = tensor.detach().clone();
      return copy;
    }();
    const auto random = autograd::default_generator().state();
    EXPECT_TRUE(verify(*model, batch_of_rank()).ok());
    const nn::StateDict after = model->state_dict();
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(checksum(before[i].tensor), checksum(after[i].tensor))
          << before[i].name;
    }
    for (const Tensor& parameter : model->parameters()) {
      EXPECT_FALSE(parameter.grad().defined());
    }
    EXPECT_EQ(autograd::default_generator().state(), random);
    // A step still works.
    (*model)(batch_of_rank()).mean().backward();
    optimizer.step();
  });
}

TEST(Verify, AFailedLossLeavesNoHook) {
  run_ranks(2, [] {
    nn::Linear model(4, 2);
    broadcast_parameters(model.state_dict(), 0);
    const auto fail = [&]() -> Tensor { throw std::runtime_error("no batch"); };
    EXPECT_THROW(verify(model, fail), std::runtime_error);
    model(batch_of_rank()).mean().backward();
    EXPECT_TRUE(verify(model, batch_of_rank()).ok());
  });
}

TEST(Verify, RanksThatBeganWithOtherValuesAreNamed) {
  run_ranks(3, [] {
    const auto model = model_of(rank() == 1 ? 2 : 1);
    const auto report = verify(*model, batch_of_rank());
    EXPECT_THAT(report.problems,
                ElementsAre(HasSubstr("other values on rank 1 than on rank 0: "
                                      "broadcast the parameters")));
    broadcast_parameters(model->state_dict(), 0);
    EXPECT_TRUE(verify(*model, batch_of_rank()).ok());
  });
}

TEST(Verify, AModelThatDiffersIsDescribed) {
  run_ranks(2, [] {
    nn::Linear model(4, rank() == 1 ? 3 : 2);
    const auto report = verify(model, batch_of_rank());
    EXPECT_EQ(report.problems.size(), 2u) << report.text();
    EXPECT_THAT(report.problems, Each(HasSubstr(" on rank 1, and ")));
    EXPECT_THAT(report.text(), HasSubstr("[3,4] on rank 1"));
  });
}

TEST(Verify, InvalidAndIrreproducibleStepsAreNamed) {
  run_ranks(2, [] {
    nn::Linear model(4, 2);
    broadcast_parameters(model.state_dict(), 0);
    const Tensor batch = batch_of_rank();
    int calls = 0;
    const auto growing = verify(model, [&] {
      return model(batch).mean() *
             static_cast<float>(rank() == 1 ? ++calls : 1);
    });
    EXPECT_TRUE(growing.ok());
    EXPECT_THAT(growing.notes,
                Each(HasSubstr("differs on rank 1 between two steps")));
    EXPECT_EQ(growing.notes.size(), 2u) << growing.text();
    const auto invalid = verify(model, [&] {
      return model(batch).mean() / static_cast<float>(rank());
    });
    EXPECT_FALSE(invalid.ok());
    EXPECT_THAT(invalid.text(), HasSubstr("gradient on rank 0 that is not"));
  });
}

}  // namespace
}  // namespace hvd::optim
