// SPDX-License-Identifier: Apache-2.0
// More modules load a state_dict of PyTorch's, and compute the same results and
// gradients. They have second derivatives, and the same gradients when they are
// recomputed. test/fixtures/make_more_module_fixtures.py makes the numbers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/autograd/near.h"
#include "test/models/same_numbers.h"

namespace hvd::nn {
namespace {

using MakeModule = std::function<std::shared_ptr<Module>()>;

// A decoder layer with its input as memory, but for the first step.
struct Remembering : Module {
  Tensor forward(const Tensor& x) override {
    return decoder->run(x, x.narrow(1, 1, x.size(1) - 1));
  }
  std::shared_ptr<TransformerDecoderLayer> decoder =
      std::make_shared<TransformerDecoderLayer>(
          12, 3,
          TransformerLayerOptions{
              .feedforward = 16, .dropout = 0, .batch_first = true});
};

template <typename M, typename... Args>
MakeModule of(Args... args) {
  return [=] { return std::make_shared<M>(args...); };
}

std::map<std::string, MakeModule> norms_and_activations() {
  return {{"group_norm", of<GroupNorm>(2, 4)},
          {"instance_norm",
           of<InstanceNorm2d>(4, InstanceNormOptions{.affine = true})},
          {"rms_norm", of<RMSNorm>(autograd::Dims{5, 6})},
          {"batch_norm1d", of<BatchNorm1d>(4)},
          {"batch_norm1d_rows", of<BatchNorm1d>(4)},
          {"batch_norm3d", of<BatchNorm3d>(3)},
          {"silu", of<SiLU>()},
          {"log_sigmoid", of<LogSigmoid>()},
          {"softplus", of<Softplus>()},
          {"mish", of<Mish>()},
          {"softsign", of<Softsign>()},
          {"tanhshrink", of<Tanhshrink>()},
          {"relu6", of<ReLU6>()},
          {"hardtanh", of<Hardtanh>()},
          {"hardsigmoid", of<Hardsigmoid>()},
          {"hardswish", of<Hardswish>()},
          {"leaky_relu", of<LeakyReLU>(0.2)},
          {"elu", of<ELU>(0.7)},
          {"prelu", of<PReLU>(4)},
          {"glu", of<GLU>(1)}};
}

std::map<std::string, MakeModule> image_modules() {
  using Widths = std::vector<std::int64_t>;
  const Widths around = {1, 2, 3, 4};
  return {
      {"nearest", of<Upsample>(UpsampleOptions{.size = {7, 9}})},
      {"bilinear", of<Upsample>(UpsampleOptions{
                       .scale = {2}, .mode = InterpolateMode::kLinear})},
      {"bilinear_corners",
       of<Upsample>(UpsampleOptions{.size = {3, 11},
                                    .mode = InterpolateMode::kLinear,
                                    .align_corners = true})},
      {"pixel_shuffle", of<PixelShuffle>(2)},
      {"pixel_unshuffle", of<PixelUnshuffle>(2)},
      {"pad_constant", of<Pad>(Widths{1, 2, 0, 1}, PadMode::kConstant, 0.5)},
      {"pad_reflect", of<Pad>(around, PadMode::kReflect)},
      {"pad_replicate", of<Pad>(around, PadMode::kReplicate)},
      {"pad_circular", of<Pad>(around, PadMode::kCircular)},
      {"conv1d",
       of<Conv1d>(4, 6, 3,
                  Conv1dOptions{
                      .stride = 2, .padding = 1, .dilation = 2, .groups = 2})},
      {"conv_transpose2d",
       of<ConvTranspose2d>(4, 6, Pair{3, 2},
                           ConvTranspose2dOptions{.stride = {2, 3},
                                                  .padding = {1, 0},
                                                  .output_padding = {1, 0},
                                                  .groups = 2})},
      {"conv_transpose2d_dilated",
       of<ConvTranspose2d>(
           4, 3, Pair(3),
           ConvTranspose2dOptions{.padding = 5, .dilation = 2, .bias = false})},
      {"conv3d",
       of<Conv3d>(4, 6, Triple{1, 3, 2},
                  Conv3dOptions{
                      .stride = {1, 2, 1}, .padding = {0, 1, 1}, .groups = 2})},
      {"conv_transpose1d",
       of<ConvTranspose1d>(
           4, 3, 3, ConvTranspose1dOptions{.stride = 2, .output_padding = 1})},
      {"conv_transpose3d",
       of<ConvTranspose3d>(
           4, 2, Triple(2),
           ConvTranspose3dOptions{.stride = {1, 2, 1}, .padding = {0, 1, 1}})},
      {"max_pool3d",
       of<MaxPool3d>(MaxPool3dOptions{
           .kernel = {2, 3, 2}, .stride = 1, .padding = {1, 1, 0}})},
      {"avg_pool3d", of<AvgPool3d>(AvgPool3dOptions{.kernel = {1, 2, 3},
                                                    .stride = {1, 2, 1}})},
      {"adaptive_avg_pool3d", of<AdaptiveAvgPool3d>(Triple{1, 2, 3})},
      {"adaptive_max_pool2d", of<AdaptiveMaxPool2d>(Pair{2, 4})},
      {"lp_pool2d", of<LPPool2d>(LPPool2dOptions{.kernel = {2, 3}})},
      {"bicubic", of<Upsample>(UpsampleOptions{
                      .size = {7, 4}, .mode = InterpolateMode::kCubic})},
      {"antialiased",
       of<Upsample>(UpsampleOptions{.size = {3, 8},
                                    .mode = InterpolateMode::kCubic,
                                    .antialias = true})},
      {"avg_pool2d_by_a_divisor",
       of<AvgPool2d>(AvgPool2dOptions{
           .kernel = 3, .stride = 2, .padding = 1, .divisor_override = 5})},
      {"conv1d_same",
       of<Conv1d>(4, 3, 4, Conv1dOptions{.dilation = 3, .same_padding = true})},
      {"trilinear",
       of<Upsample>(UpsampleOptions{.scale = {2, 1.5, 1},
                                    .mode = InterpolateMode::kLinear})},
      {"max_pool1d",
       of<MaxPool1d>(MaxPool1dOptions{.kernel = 3, .stride = 2, .padding = 1})},
      {"avg_pool1d", of<AvgPool1d>(AvgPool1dOptions{.kernel = 2})},
      {"adaptive_avg_pool1d", of<AdaptiveAvgPool1d>(3)}};
}

std::map<std::string, MakeModule> sequence_modules() {
  TransformerLayerOptions layer = {
      .feedforward = 16, .dropout = 0, .batch_first = true};
  TransformerLayerOptions first = {
      .feedforward = 16, .dropout = 0, .gelu = true, .norm_first = true};
  TransformerLayerOptions without_bias = {
      .feedforward = 16, .dropout = 0, .bias = false};
  return {
      {"gru", of<GRU>(5, 6, RecurrentOptions{.num_layers = 2})},
      {"gru_both_ways", of<GRU>(5, 6,
                                RecurrentOptions{.num_layers = 2,
                                                 .batch_first = true,
                                                 .bidirectional = true})},
      {"rnn",
       of<RNN>(5, 6, RecurrentOptions{.num_layers = 2, .bidirectional = true})},
      {"rnn_relu",
       of<RNN>(5, 6, RecurrentOptions{.bias = false, .relu = true})},
      {"encoder", of<TransformerEncoderLayer>(12, 3, layer)},
      {"encoder_norm_first", of<TransformerEncoderLayer>(12, 3, first)},
      {"encoder_without_bias",
       of<TransformerEncoderLayer>(12, 3, without_bias)},
      {"decoder", of<Remembering>()}};
}

std::map<std::string, MakeModule> more_modules() {
  std::map<std::string, MakeModule> all = norms_and_activations();
  all.merge(image_modules());
  all.merge(sequence_modules());
  return all;
}

const std::map<std::string, Tensor>& more_numbers() {
  static const auto file = read_fixture("more_modules.safetensors");
  return file;
}

std::shared_ptr<Module> loaded_module(const std::string& name,
                                      const MakeModule& make) {
  const auto module = make();
  StateDict state;
  const std::string prefix = name + ".state.";
  for (const auto& [key, tensor] : more_numbers()) {
    if (key.starts_with(prefix)) {
      state.push_back({key.substr(prefix.size()), tensor});
    }
  }
  const auto* decoder = dynamic_cast<Remembering*>(module.get());
  Module& target = decoder == nullptr ? *module : *decoder->decoder;
  target.to(DType::kF64);
  target.load_state_dict(state);
  return module;
}

Tensor input_of(const std::string& name) {
  return more_numbers().at(name + ".in").clone().set_requires_grad(true);
}

TEST(PyTorchsMoreModules, ComputeTheSameResultsAndGradients) {
  std::set<std::string> inputs;
  for (const auto& [key, tensor] : more_numbers()) {
    if (key.ends_with(".in")) inputs.insert(key.substr(0, key.size() - 3));
  }
  EXPECT_EQ(inputs.size(), more_modules().size());
  for (const auto& [name, make] : more_modules()) {
    SCOPED_TRACE(name);
    const auto module = loaded_module(name, make);
    const Tensor x = input_of(name);
    const Tensor y = (*module)(x);
    expect_near(y, more_numbers().at(name + ".out"), 1e-12);
    y.backward(same_uniform(name, y.shape()));
    // PyTorch's slope of hardsigmoid is 1/6 in float32.
    expect_near(x.grad(), more_numbers().at(name + ".grad"),
                name == "hardsigmoid" ? 1e-7 : 1e-11);
    if (auto* layers = dynamic_cast<Recurrent*>(module.get())) {
      expect_near(layers->run(x).h, more_numbers().at(name + ".h"), 1e-12);
    }
  }
}

TEST(PyTorchsMoreModules, HaveSecondDerivatives) {
  for (const auto& [name, make] : more_modules()) {
    SCOPED_TRACE(name);
    // Their check takes a second; gru covers the same code.
    if (name == "gru_both_ways" || name == "encoder_norm_first") continue;
    const auto module = loaded_module(name, make);
    const Tensor whole = input_of(name).detach();
    const Tensor x =
        whole.narrow(0, 0, std::min<std::int64_t>(whole.size(0), 2))
            .clone()
            .set_requires_grad(true);
    const auto run = [&](const std::vector<Tensor>& in) {
      // The sum of squares weighs results unequally.
      const Tensor y = (*module)(in[0]);
      return std::vector{(y * y).sum()};
    };
    EXPECT_NO_THROW(autograd::gradgradcheck(run, {x}));
  }
}

TEST(PyTorchsMoreModules, HaveTheSameGradientsWhenRecomputed) {
  for (const auto& [name, make] : more_modules()) {
    SCOPED_TRACE(name);
    std::vector<std::vector<double>> gradients;
    for (const bool recomputed : {false, true}) {
      const auto module = loaded_module(name, make);
      if (recomputed) checkpoint(*module);
      const Tensor x = input_of(name);
      const Tensor y = (*module)(x);
      (y * y).sum().backward();
      gradients.push_back(x.grad().to_vector<double>());
      for (const Tensor& parameter : module->parameters()) {
        gradients.back().push_back(parameter.grad().sum().item<double>());
      }
    }
    EXPECT_EQ(gradients[0], gradients[1]);
  }
}

TEST(PyTorchsMoreModules, TakeAnyFloatingTypeLayoutAndEmptyBatch) {
  for (const auto& [name, make] : more_modules()) {
    SCOPED_TRACE(name);
    const auto module = loaded_module(name, make);
    const Tensor x = more_numbers().at(name + ".in");
    const Tensor wanted = more_numbers().at(name + ".out");
    const Tensor columns = x.transpose(0, 1).clone().transpose(0, 1);
    expect_near((*module)(columns), wanted, 1e-12);
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const auto other = loaded_module(name, make);
      other->to(dtype);
      if (name == "decoder") continue;  // Its layer is no child.
      const Tensor y = (*other)(x.to(dtype));
      EXPECT_EQ(y.dtype(), dtype);
      expect_near(y, wanted, dtype == DType::kF32 ? 1e-5 : 0.06);
    }
    // Statistics, and steps of [time, batch], need an item.
    if (name.starts_with("batch_norm") || name == "gru" ||
        name.starts_with("rnn")) {
      continue;
    }
    const Tensor nothing = x.narrow(0, 0, 0);
    EXPECT_EQ((*module)(nothing).num_elements(), 0);
  }
}

TEST(MoreContainers, ListTheirTensorsAndModulesByName) {
  ModuleDict<Module> modules;
  modules.insert("first", std::make_shared<Linear>(2, 3));
  modules.insert("second", std::make_shared<Identity>());
  EXPECT_EQ(modules.named_parameters()[0].name, "first.weight");
  EXPECT_TRUE(modules.contains("second"));
  EXPECT_FALSE(modules.contains("third"));
  EXPECT_THROW(modules["third"], InvalidArgument);
  EXPECT_THROW(modules.insert("first", std::make_shared<Identity>()),
               InvalidArgument);
  EXPECT_THROW(modules(ones({1})), InvalidArgument);
  const Tensor x = ones({2});
  EXPECT_TRUE(modules["second"](x).is_same(x));
  ParameterList list({ones({1}), ones({2})});
  EXPECT_EQ(list.named_parameters()[1].name, "1");
  EXPECT_EQ(list[1].num_elements(), 2);
  EXPECT_THROW(list[2], InvalidArgument);
  ParameterDict dict;
  dict.insert("scale", ones({3}));
  EXPECT_EQ(dict.named_parameters()[0].name, "scale");
  EXPECT_EQ(dict["scale"].num_elements(), 3);
  EXPECT_THROW(dict["shift"], InvalidArgument);
}

// The values of torch.nn.functional.pad(tensor([0, 1, 2, 3]), widths, mode).
TEST(MoreModules, CropAtNegativeWidths) {
  const Tensor x = arange(0, 4).to(DType::kF32).reshape({1, 4});
  const auto padded = [&](PadMode mode, std::vector<std::int64_t> widths) {
    return Pad(std::move(widths), mode)(x).to_vector<float>();
  };
  using Values = std::vector<float>;
  EXPECT_EQ(padded(PadMode::kReflect, {-1, 1}), Values({1, 2, 3, 2}));
  EXPECT_EQ(padded(PadMode::kReplicate, {2, -1}), Values({0, 0, 0, 1, 2}));
  EXPECT_EQ(padded(PadMode::kReplicate, {-4, 5}), Values({3, 3, 3, 3, 3}));
  EXPECT_EQ(padded(PadMode::kCircular, {-1, 1}), Values({1, 2, 3, 1}));
  EXPECT_THROW(padded(PadMode::kReflect, {-2, -2}), InvalidArgument);
  EXPECT_THROW(padded(PadMode::kReplicate, {-2, -3}), InvalidArgument);
}

TEST(MoreModules, RefuseInputsThatDoNotFit) {
  EXPECT_THROW(GroupNorm(3, 4), InvalidArgument);
  EXPECT_THROW(group_norm(ones({2, 3}), 2), InvalidArgument);
  EXPECT_THROW(RMSNorm(autograd::Dims{}), InvalidArgument);
  EXPECT_THROW(rms_norm(ones({2, 3}), {4}), InvalidArgument);
  EXPECT_THROW(InstanceNorm2d(3)(ones({1, 2, 4, 4})), InvalidArgument);
  EXPECT_THROW(BatchNorm1d(3)(ones({1, 3, 4, 4})), InvalidArgument);
  EXPECT_THROW(PixelShuffle(2)(ones({1, 3, 4, 4})), InvalidArgument);
  EXPECT_THROW(PixelUnshuffle(2)(ones({1, 3, 3, 4})), InvalidArgument);
  EXPECT_THROW(Pad({4, 0}, PadMode::kReflect)(ones({1, 4})), InvalidArgument);
  EXPECT_THROW(Pad({1}, PadMode::kReflect)(ones({1, 4})), InvalidArgument);
  EXPECT_THROW(Upsample({.scale = {2}})(ones({1, 4})), InvalidArgument);
  EXPECT_THROW(Upsample({.scale = {2}, .mode = InterpolateMode::kLinear})(
                   ones({1, 1, 2, 2}).to(DType::kU8)),
               InvalidArgument);
  EXPECT_THROW(Conv1d(3, 4, 2, {.groups = 2}), InvalidArgument);
  EXPECT_THROW(ConvTranspose2d(3, 4, 2, {.stride = 0}), InvalidArgument);
  EXPECT_THROW(ConvTranspose2d(3, 4, 2)(ones({1, 2, 4, 4})), InvalidArgument);
  EXPECT_THROW(MaxPool1d({.kernel = 2})(ones({4})), InvalidArgument);
  EXPECT_THROW(GLU()(ones({3})), InvalidArgument);
  EXPECT_THROW(PReLU(0), InvalidArgument);
  EXPECT_THROW(GRU(0, 1), InvalidArgument);
  EXPECT_THROW(GRU(2, 3)(ones({4, 2})), InvalidArgument);
  EXPECT_THROW(GRU(2, 3).run(ones({4, 1, 2}), ones({1, 1, 4})),
               InvalidArgument);
  EXPECT_THROW(TransformerDecoderLayer(4, 2)(ones({1, 2, 4})), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
