// SPDX-License-Identifier: Apache-2.0
// Cells compute what one step of their layer does. Tests of the layers compare
// these with PyTorch's.
#include "horovodpp/nn/layers/cells.h"

#include <gtest/gtest.h>

#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/ops.h"
#include "test/autograd/near.h"

namespace hvd::nn {
namespace {

constexpr std::int64_t kInputs = 3;
constexpr std::int64_t kHidden = 4;
constexpr CellOptions kDouble = {.dtype = DType::kF64};
constexpr RecurrentOptions kDoubleLayer = {.dtype = DType::kF64};

// Loads the weights of a layer into a cell, under the names without "_l0".
void load_layer(Module& cell, const Module& layer) {
  StateDict state;
  for (const auto& [name, tensor] : layer.state_dict()) {
    state.push_back({name.substr(0, name.size() - 3), tensor});
  }
  cell.load_state_dict(state);
}

Tensor random_rows(const autograd::Dims& shape) {
  return randn(shape, {.dtype = DType::kF64});
}

template <typename Cell, typename Layer>
void expect_steps(Cell& cell, Layer& layer) {
  load_layer(cell, layer);
  const Tensor x = random_rows({3, 2, kInputs});
  const auto wanted = layer.run(x);
  Tensor h;
  for (std::int64_t t = 0; t < 3; ++t) {
    h = cell.run(x.select(0, t), h);
    expect_near(h, wanted.output.select(0, t), 1e-12);
  }
  expect_near(cell.run(x.select(0, 0).select(0, 1)),
              wanted.output.select(0, 0).select(0, 1), 1e-12);
}

TEST(Cells, GruTakesTheLayersSteps) {
  GRUCell cell(kInputs, kHidden, kDouble);
  GRU layer(kInputs, kHidden, kDoubleLayer);
  expect_steps(cell, layer);
}

TEST(Cells, RnnTakesTheLayersSteps) {
  for (const bool relu : {false, true}) {
    RNNCell cell(kInputs, kHidden, {.relu = relu, .dtype = DType::kF64});
    RNN layer(kInputs, kHidden, {.relu = relu, .dtype = DType::kF64});
    expect_steps(cell, layer);
  }
}

TEST(Cells, LstmTakesTheLayersSteps) {
  LSTMCell cell(kInputs, kHidden, kDouble);
  LSTM layer(kInputs, kHidden, {.dtype = DType::kF64});
  load_layer(cell, layer);
  const Tensor x = random_rows({3, 2, kInputs});
  const auto wanted = layer.run(x);
  LstmState state;
  for (std::int64_t t = 0; t < 3; ++t) {
    state = cell.run(x.select(0, t), state);
    expect_near(state.h, wanted.output.select(0, t), 1e-12);
  }
  const LstmState single = cell.run(x.select(0, 0).select(0, 1));
  expect_near(single.h, wanted.output.select(0, 0).select(0, 1), 1e-12);
}

TEST(Cells, RefuseShapesThatDoNotFit) {
  GRUCell cell(kInputs, kHidden);
  EXPECT_THROW(cell.run(zeros({2, kHidden})), InvalidArgument);
  EXPECT_THROW(cell.run(zeros({kInputs}), zeros({1, kHidden})),
               InvalidArgument);
  LSTMCell lstm(kInputs, kHidden);
  EXPECT_THROW(lstm.run(zeros({})), InvalidArgument);
  EXPECT_THROW(RNNCell(0, 1), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
