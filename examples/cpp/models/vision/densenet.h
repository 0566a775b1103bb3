// SPDX-License-Identifier: Apache-2.0
// DenseNet-BC (Huang et al. 2017) for small images: every layer of a block
// takes the outputs of all layers before it. It has bottlenecks, and halves the
// features after each block.
//
// A layer's input is the concatenation of all earlier outputs. Keeping it for
// each layer takes memory that grows with the square of the number of layers.
// Checkpointed by block, the network is memory-efficient (Pleiss et al. 2017):
// layers keep their outputs, and backward concatenates and normalizes them
// again.
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/chain_model.h"

namespace models {

struct DenseNetOptions {
  std::int64_t growth = 12;                      // Features that a layer adds.
  std::vector<std::int64_t> layers = {8, 8, 8};  // Of each block.
  double dropout = 0.0;
  std::int64_t channels = 1;
  std::int64_t classes = 10;
};

class DenseLayer : public hvd::nn::Module {
 public:
  DenseLayer(std::int64_t inputs, const DenseNetOptions& options);

  // [n, inputs, h, w] -> [n, growth, h, w]
  hvd::Tensor forward(const hvd::Tensor& x) override;

  // The same for cat(features, 1), which backward recomputes together with the
  // first convolution, if one of the features needs a gradient. `leanly`: it
  // also recomputes the second norm.
  hvd::Tensor run_efficiently(const std::vector<hvd::Tensor>& features,
                              bool leanly);

  // x followed by the layer's output. Leaner: recomputes norms.
  hvd::ChainStage stage();

 private:
  hvd::Tensor bottleneck(const hvd::Tensor& x, bool leanly);
  hvd::Tensor grow(const hvd::Tensor& x, bool leanly);
  hvd::Tensor append(const hvd::Tensor& x, bool leanly);

  const double dropout_;
  std::shared_ptr<hvd::nn::BatchNorm2d> norm1_;
  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> norm2_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
};

class DenseBlock : public hvd::nn::Module {
 public:
  DenseBlock(std::int64_t inputs, std::int64_t layers,
             const DenseNetOptions& options);

  // [n, inputs, h, w] -> [n, inputs + layers growth, h, w]
  hvd::Tensor forward(const hvd::Tensor& x) override;

  hvd::Tensor run_efficiently(const hvd::Tensor& x, bool leanly);
  std::vector<hvd::ChainStage> stages();

 private:
  std::shared_ptr<hvd::nn::ModuleList<DenseLayer>> layers_;
};

// Changes the number of features, and halves the images' height and width.
class Transition : public hvd::nn::Module {
 public:
  Transition(std::int64_t inputs, std::int64_t outputs);

  hvd::Tensor forward(const hvd::Tensor& x) override;
  hvd::Tensor run(const hvd::Tensor& x, bool leanly);

 private:
  std::shared_ptr<hvd::nn::BatchNorm2d> norm_;
  std::shared_ptr<hvd::nn::Conv2d> conv_;
};

// float [n, channels, h, w] -> [n, classes]
class DenseNetBC : public ChainModel {
 public:
  explicit DenseNetBC(const DenseNetOptions& options = {});

 protected:
  hvd::Tensor run_blocks(const hvd::Tensor& images, bool leanly) override;

 private:
  hvd::Tensor classify(const hvd::Tensor& x);

  std::shared_ptr<hvd::nn::Conv2d> conv0_;
  std::vector<std::shared_ptr<DenseBlock>> blocks_;
  std::vector<std::shared_ptr<Transition>> transitions_;  // Between the blocks.
  std::shared_ptr<hvd::nn::BatchNorm2d> norm_;
  std::shared_ptr<hvd::nn::Linear> classifier_;
};

}  // namespace models
