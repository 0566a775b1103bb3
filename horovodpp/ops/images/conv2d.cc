// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/images.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/products/convolution.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

Dims shape_of_x(const ConvShape& s) { return {s.n, s.in, s.height, s.width}; }
Dims shape_of_y(const ConvShape& s) {
  return {s.n, s.out, s.out_height, s.out_width};
}
Dims shape_of_weight(const ConvShape& s) {
  return {s.out, s.in / s.options.groups, s.kernel.height, s.kernel.width};
}

// The operands of a pass; bias may be undefined.
struct ConvOperands {
  Tensor first;   // x, y, x: forward, backward of data, of weights.
  Tensor second;  // weight, weight, y
  Tensor bias;
};

// Runs a pass on operands of one floating dtype, in the kernels' layout.
Tensor computed(ConvPass pass, const ConvShape& shape,
                const ConvOperands& given) {
  const DType dtype = given.first.dtype();
  const Tensor first = channels_last(given.first);
  const bool weights = pass == ConvPass::kBackwardWeights;
  const Tensor second =
      weights ? channels_last(given.second) : given.second.contiguous();
  const Tensor bias = given.bias.defined() ? given.bias.contiguous() : Tensor();
  ConvBuffers buffers;
  if (bias.defined()) buffers.bias = bias.raw_data();
  Tensor out;
  switch (pass) {
    case ConvPass::kForward:
      out = empty_channels_last(shape_of_y(shape), dtype);
      buffers.x = first.raw_data();
      buffers.weight = second.raw_data();
      buffers.y = out.raw_data();
      break;
    case ConvPass::kBackwardData:
      out = empty_channels_last(shape_of_x(shape), dtype);
      buffers.x = out.raw_data();
      buffers.weight = second.raw_data();
      buffers.y = first.raw_data();
      break;
    case ConvPass::kBackwardWeights:
      out = empty(shape_of_weight(shape), {.dtype = dtype});
      buffers.x = first.raw_data();
      buffers.weight = out.raw_data();
      buffers.y = second.raw_data();
  }
  if (shape.n == 0) return zeros(out.shape(), {.dtype = dtype});
  if (convolve_with_dnnl(pass, shape, dtype, buffers)) return out;
  if (size_of(dtype) < size_of(DType::kF32)) {
    const ConvOperands wide{widened(first), widened(second),
                            bias.defined() ? widened(bias) : Tensor()};
    return to(computed(pass, shape, wide), dtype);
  }
  convolve_by_products(pass, shape, dtype, buffers);
  return out;
}

// A pass as an operation. Each pass is linear in each operand, and its
// derivatives are the other passes.
Tensor convolve(ConvPass pass, const ConvShape& shape,
                const ConvOperands& given);

struct ConvNode : Node {
  const char* name() const override {
    switch (pass) {
      case ConvPass::kForward:
        return "ConvolutionBackward";
      case ConvPass::kBackwardData:
        return "ConvolutionDataBackwardBackward";
      case ConvPass::kBackwardWeights:
        break;
    }
    return "ConvolutionWeightBackwardBackward";
  }

  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    // Both gradients of a forward pass read it in the kernels' layout.
    const bool is_read_twice = pass == ConvPass::kForward && wants(0) &&
                               wants(1) && !is_grad_enabled();
    const Tensor grad = is_read_twice ? channels_last(grads[0]) : grads[0];
    // Parameters first: their gradients go to leaves.
    if (wants(1)) results[1] = second_gradient(grad);
    if (next_edges().size() > 2 && wants(2)) {
      results[2] = sum(grad, {0, 2, 3});
    }
    if (wants(0)) results[0] = first_gradient(grad);
  }

  Tensor first_gradient(const Tensor& grad) {
    const Tensor other = second.unpack(*this);
    switch (pass) {
      case ConvPass::kForward:
        return convolve(ConvPass::kBackwardData, shape, {grad, other, {}});
      case ConvPass::kBackwardData:
        return convolve(ConvPass::kForward, shape, {grad, other, {}});
      case ConvPass::kBackwardWeights:
        break;
    }
    return convolve(ConvPass::kBackwardData, shape, {other, grad, {}});
  }

  Tensor second_gradient(const Tensor& grad) {
    const Tensor other = first.unpack(*this);
    switch (pass) {
      case ConvPass::kForward:
        return convolve(ConvPass::kBackwardWeights, shape, {other, grad, {}});
      case ConvPass::kBackwardData:
        return convolve(ConvPass::kBackwardWeights, shape, {grad, other, {}});
      case ConvPass::kBackwardWeights:
        break;
    }
    return convolve(ConvPass::kForward, shape, {other, grad, {}});
  }

  void release_saved() override {
    first.release();
    second.release();
  }

  ConvPass pass = ConvPass::kForward;
  ConvShape shape;
  SavedTensor first;
  SavedTensor second;
};

Tensor convolve(ConvPass pass, const ConvShape& shape,
                const ConvOperands& given) {
  const bool with_bias = given.bias.defined();
  const bool recorded = needs_grad(given.first, given.second, given.bias);
  // Saves before computing, so that a recomputation can stop after the last
  // saved tensor.
  Ref<ConvNode> node;
  if (recorded) {
    node = make_node<ConvNode>(given.first, given.second);
    if (with_bias) node->add_edge(gradient_edge(given.bias));
    node->pass = pass;
    node->shape = shape;
    if (node->wants(1)) node->first.save(given.first);
    if (node->wants(0)) node->second.save(given.second);
  }
  Tensor out = result_of("conv2d", [&] {
    NoGrad no_grad;
    return computed(pass, shape, given);
  });
  if (node) set_history(out, std::move(node));
  return out;
}

[[noreturn]] void throw_misfit(const Tensor& x, const Tensor& weight,
                               const Tensor& bias, const Conv2dOptions& o) {
  throw InvalidArgument(absl::StrCat(
      "conv2d: input ", x.describe(), " does not go with weight ",
      weight.describe(),
      bias.defined() ? absl::StrCat(" and bias ", bias.describe()) : "", " in ",
      o.groups,
      " groups; wanted are [n, in, height, width], [out, in / groups, kernel "
      "height, kernel width] and [out], none of them empty but for n"));
}

std::int64_t out_size(std::int64_t size, std::int64_t kernel,
                      std::int64_t stride, std::int64_t padding,
                      std::int64_t dilation) {
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

ConvShape checked_shape(const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Conv2dOptions& o) {
  const bool fits = x.dim() == 4 && weight.dim() == 4 && o.groups > 0 &&
                    weight.num_elements() > 0 &&
                    x.size(1) == weight.size(1) * o.groups &&
                    weight.size(0) % o.groups == 0 &&
                    (!bias.defined() || bias.shape() == Dims({weight.size(0)}));
  if (!fits) throw_misfit(x, weight, bias, o);
  if (!is_sound(o.stride, 1) || !is_sound(o.dilation, 1) ||
      !is_sound(o.padding, 0) ||
      !is_sound({weight.size(2), weight.size(3)}, 1)) {
    throw InvalidArgument(
        "conv2d: stride and dilation must be positive, padding not negative, "
        "and they and the kernel less than 2^31");
  }
  ConvShape s{.n = x.size(0),
              .in = x.size(1),
              .height = x.size(2),
              .width = x.size(3),
              .out = weight.size(0),
              .out_height = 0,
              .out_width = 0,
              .kernel = {weight.size(2), weight.size(3)},
              .options = o};
  s.out_height = out_size(s.height, s.kernel.height, o.stride.height,
                          o.padding.height, o.dilation.height);
  s.out_width = out_size(s.width, s.kernel.width, o.stride.width,
                         o.padding.width, o.dilation.width);
  if (s.out_height == 0 || s.out_width == 0) {
    throw InvalidArgument(absl::StrCat(
        "conv2d: the kernel of weight ", weight.shape().to_string(),
        ", dilated, is larger than the padded input ", x.shape().to_string()));
  }
  return s;
}

}  // namespace
}  // namespace autograd

Tensor conv2d(const Tensor& input, const Tensor& kernels, const Tensor& offset,
              const Conv2dOptions& options) {
  const Tensor x = autograd::autocast_lower(input);
  const Tensor weight = autograd::autocast_lower(kernels);
  const Tensor bias = autograd::autocast_lower(offset);
  autograd::check_same_dtype(x, weight, "conv2d");
  if (bias.defined()) autograd::check_same_dtype(x, bias, "conv2d");
  if (!is_floating_point(x.dtype())) {
    autograd::throw_bad_dtype(x.dtype(), "conv2d", "floating point");
  }
  if (x.dim() == 3) {
    return autograd::without(conv2d(unsqueeze(x, 0), weight, bias, options), 0);
  }
  const auto shape = autograd::checked_shape(x, weight, bias, options);
  return autograd::convolve(autograd::ConvPass::kForward, shape,
                            {x, weight, bias});
}

}  // namespace hvd
