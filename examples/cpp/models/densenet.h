// SPDX-License-Identifier: Apache-2.0
// DenseNet-BC (Huang et al. 2017) for small images: every layer of a block sees
// what all layers before it made; with bottlenecks, and half of the features
// behind each block.
#pragma once

#include <horovodpp/nn/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

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

 private:
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

 private:
  std::shared_ptr<hvd::nn::ModuleList<DenseLayer>> layers_;
};

// Other features, and images of half the height and width.
class Transition : public hvd::nn::Module {
 public:
  Transition(std::int64_t inputs, std::int64_t outputs);

  hvd::Tensor forward(const hvd::Tensor& x) override;

 private:
  std::shared_ptr<hvd::nn::BatchNorm2d> norm_;
  std::shared_ptr<hvd::nn::Conv2d> conv_;
};

class DenseNetBC : public hvd::nn::Module {
 public:
  explicit DenseNetBC(const DenseNetOptions& options = {});

  // float [n, channels, h, w] -> [n, classes]
  hvd::Tensor forward(const hvd::Tensor& images) override;

 private:
  std::shared_ptr<hvd::nn::Conv2d> conv0_;
  std::vector<std::shared_ptr<hvd::nn::Module>> stages_;
  std::shared_ptr<hvd::nn::BatchNorm2d> norm_;
  std::shared_ptr<hvd::nn::Linear> classifier_;
};

}  // namespace models
