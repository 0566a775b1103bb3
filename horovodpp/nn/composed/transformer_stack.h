// SPDX-License-Identifier: Apache-2.0
// The encoder, the decoder, and the whole transformer (Vaswani et al. 2017),
// with PyTorch's names of parameters and values.
//
//   hvd::nn::Transformer model(512, 8, {.layer = {.batch_first = true}});
//   hvd::Tensor y = model.run(source, target, {
//       .target = {.mask = hvd::nn::Transformer::subsequent_mask(target.size(1))}});
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/containers.h"
#include "horovodpp/nn/layers/transformer.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct TransformerStackOptions {
  TransformerLayerOptions layer = {};
  bool norm = false;  // A layer norm behind the last layer.
};

class TransformerEncoder : public Module {
 public:
  // "layers", a list, and "norm" if wanted.
  //   InvalidArgument  there are no layers; as of the layers
  TransformerEncoder(std::int64_t width, std::int64_t heads,
                     std::int64_t layers,
                     const TransformerStackOptions& options = {});

  Tensor forward(const Tensor& input) override { return run(input); }
  // Each layer has the same masks.
  Tensor run(const Tensor& input, const AttendOptions& options = {});

 private:
  std::shared_ptr<ModuleList<TransformerEncoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

class TransformerDecoder : public Module {
 public:
  // As TransformerEncoder.
  TransformerDecoder(std::int64_t width, std::int64_t heads,
                     std::int64_t layers,
                     const TransformerStackOptions& options = {});

  //   InvalidArgument  always: a decoder has two inputs; use run()
  Tensor forward(const Tensor& input) override;
  Tensor run(const Tensor& target, const Tensor& memory,
             const AttendOptions& of_target = {},
             const AttendOptions& of_memory = {});

 private:
  std::shared_ptr<ModuleList<TransformerDecoderLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
};

struct TransformerOptions {
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  TransformerLayerOptions layer = {};
};

// The masks of the three kinds of attention.
struct TransformerMasks {
  AttendOptions source = {};
  AttendOptions target = {};
  AttendOptions memory = {};
};

class Transformer : public Module {
 public:
  // "encoder" and "decoder", each with a norm. Matrices are Xavier-uniform.
  //   InvalidArgument  as of the stacks
  explicit Transformer(std::int64_t width = 512, std::int64_t heads = 8,
                       const TransformerOptions& options = {});

  //   InvalidArgument  always: a transformer has two inputs; use run()
  Tensor forward(const Tensor& input) override;
  Tensor run(const Tensor& source, const Tensor& target,
             const TransformerMasks& masks = {});

  // [steps, steps]: -inf for later keys, else 0.
  static Tensor subsequent_mask(std::int64_t steps, DType dtype = DType::kF32);

 private:
  std::shared_ptr<TransformerEncoder> encoder_;
  std::shared_ptr<TransformerDecoder> decoder_;
};

}  // namespace nn
}  // namespace hvd
