// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/images.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/products/convolution.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

Dims shape_of_x(const ConvShape& s) {
  return shape_of(s.n, s.in, s.image, s.dims);
}
Dims shape_of_y(const ConvShape& s) {
  return shape_of(s.n, s.out, s.result, s.dims);
}
Dims shape_of_weight(const ConvShape& s) {
  return shape_of(s.out, s.in / s.options.groups, s.kernel, s.dims);
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
      results[2] =
          sum(grad, shape.dims == 2 ? Dims{0, 2, 3} : Dims{0, 2, 3, 4});
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
  const OperationName operation =
      shape.dims == 2 ? OperationName("conv2d") : OperationName("conv3d");
  Tensor out = result_of(operation, [&] {
    NoGrad no_grad;
    return computed(pass, shape, given);
  });
  if (node) set_history(out, std::move(node));
  return out;
}

// The operands of an operation, batched, with sizes in 3 dimensions.
struct Convolution {
  const char* operation;
  int dims;  // Of the images: 2 or 3.
  Tensor x;
  Tensor weight;
  Tensor bias;
  Conv3dOptions options;
};

[[noreturn]] void throw_misfit(const Convolution& c, const char* weight) {
  throw InvalidArgument(absl::StrCat(
      c.operation, ": input ", c.x.describe(), " does not go with weight ",
      c.weight.describe(),
      c.bias.defined() ? absl::StrCat(" and bias ", c.bias.describe()) : "",
      " in ", c.options.groups, " groups; wanted are [n, in, ...], ", weight,
      " and [out], none of them empty but for n"));
}

void check_options(const Convolution& c) {
  const Conv3dOptions& o = c.options;
  if (!is_sound(o.stride, 1) || !is_sound(o.dilation, 1) ||
      !is_sound(o.padding, 0) ||
      !is_sound(sizes_behind_two(c.weight.shape()), 1)) {
    throw InvalidArgument(absl::StrCat(
        c.operation,
        ": stride and dilation must be positive, padding not negative, and "
        "they and the kernel less than 2^31"));
  }
}

// Whether x has `in` channels in images, and the bias `out` elements.
bool fits(const Convolution& c, std::int64_t in, std::int64_t out) {
  return c.x.dim() == c.dims + 2 && c.x.size(1) == in &&
         (!c.bias.defined() || c.bias.shape() == Dims({out}));
}
// Whether the weight can be in groups.
bool has_weight(const Convolution& c) {
  return c.weight.dim() == c.dims + 2 && c.options.groups > 0 &&
         c.weight.num_elements() > 0 &&
         c.weight.size(0) % c.options.groups == 0;
}

void check_convolution(const Convolution& c) {
  if (!has_weight(c) ||
      !fits(c, c.weight.size(1) * c.options.groups, c.weight.size(0))) {
    throw_misfit(c, "[out, in / groups, kernel]");
  }
  check_options(c);
}

ConvShape shape_of_convolution(const Convolution& c) {
  check_convolution(c);
  const Conv3dOptions& o = c.options;
  ConvShape s{.n = c.x.size(0),
              .in = c.x.size(1),
              .out = c.weight.size(0),
              .image = sizes_behind_two(c.x.shape()),
              .kernel = sizes_behind_two(c.weight.shape()),
              .options = o,
              .dims = c.dims};
  s.result = for_each_side([&](std::int64_t Triple::*side) -> std::int64_t {
    const std::int64_t room = s.image.*side + 2 * (o.padding.*side) -
                              o.dilation.*side * (s.kernel.*side - 1) - 1;
    return room < 0 ? 0 : room / o.stride.*side + 1;
  });
  if (s.result.depth == 0 || s.result.height == 0 || s.result.width == 0) {
    throw InvalidArgument(absl::StrCat(
        c.operation, ": the kernel of weight ", c.weight.shape().to_string(),
        ", dilated, is larger than the padded input ",
        c.x.shape().to_string()));
  }
  return s;
}

// The convolution whose gradient by its input is the transposed one: its result
// has the shape of c.x.
ConvShape shape_of_transposed(const Convolution& c,
                              const Triple& output_padding) {
  const Conv3dOptions& o = c.options;
  if (!has_weight(c) ||
      !fits(c, c.weight.size(0), c.weight.size(1) * o.groups) ||
      sizes_behind_two(c.x.shape()).product() == 0) {
    throw_misfit(c, "[in, out / groups, kernel]");
  }
  check_options(c);
  ConvShape s{.n = c.x.size(0),
              .in = c.weight.size(1) * o.groups,
              .out = c.weight.size(0),
              .result = sizes_behind_two(c.x.shape()),
              .kernel = sizes_behind_two(c.weight.shape()),
              .options = o,
              .dims = c.dims};
  bool sound = is_sound(output_padding, 0);
  s.image = for_each_side([&](std::int64_t Triple::*side) -> std::int64_t {
    const std::int64_t more = output_padding.*side;
    sound = sound &&
            (more == 0 || more < std::max(o.stride.*side, o.dilation.*side));
    return (s.result.*side - 1) * (o.stride.*side) - 2 * (o.padding.*side) +
           o.dilation.*side * (s.kernel.*side - 1) + more + 1;
  });
  if (!sound) {
    throw InvalidArgument(absl::StrCat(
        c.operation,
        ": output padding must be less than the stride or the dilation"));
  }
  const Triple& to = s.image;
  if (!is_sound(to, 1)) {
    throw InvalidArgument(absl::StrCat(
        c.operation, ": the result of ", c.x.shape().to_string(),
        " would have the size [", to.depth, ",", to.height, ",", to.width,
        "]; wanted are positive numbers less than 2^31"));
  }
  return s;
}

// Calls run() with the operands of an operation on images of Size, checked and
// batched; those of one dimension are images of one row. Returns its result in
// the shape of `input`.
template <typename Size, typename Options, typename Run>
Tensor with_operands(const char* operation, const Tensor& input,
                     const Tensor& kernels, const Tensor& offset,
                     const Options& o, Run run) {
  constexpr int kGiven = kDims<Size>;
  Convolution c{.operation = operation,
                .dims = std::max(kGiven, 2),
                .x = autocast_lower(input),
                .weight = autocast_lower(kernels),
                .bias = autocast_lower(offset),
                .options = {in_3d(o.stride, 1), in_3d(o.padding, 0),
                            in_3d(o.dilation, 1), o.groups}};
  check_same_dtype(c.x, c.weight, operation);
  if (c.bias.defined()) check_same_dtype(c.x, c.bias, operation);
  if (!is_floating_point(c.x.dtype())) {
    throw_bad_dtype(c.x.dtype(), operation, "floating point");
  }
  const bool one_image = c.x.dim() == kGiven + 1;
  if (one_image) c.x = unsqueeze(c.x, 0);
  if constexpr (kGiven == 1) {
    if (c.x.dim() != 3 || c.weight.dim() != 3) {
      throw_misfit(c, "three dimensions");
    }
    c.x = unsqueeze(c.x, 2);
    c.weight = unsqueeze(c.weight, 2);
  }
  Tensor y = run(c);
  if constexpr (kGiven == 1) y = without(y, 2);
  return one_image ? without(y, 0) : y;
}

// Sets the padding that keeps the image's size. The zeros on both sides differ by
// one where a dilated kernel has an even size: x gets the last one here.
void pad_to_same_size(Convolution& c) {
  check_convolution(c);
  Conv3dOptions& o = c.options;
  if (o.stride != Triple(1) || o.padding != Triple(0)) {
    throw InvalidArgument(absl::StrCat(
        c.operation,
        ": same_padding goes with a stride of 1 and no other padding"));
  }
  const Triple kernel = sizes_behind_two(c.weight.shape());
  const Triple zeros = for_each_side([&](std::int64_t Triple::*side) {
    return o.dilation.*side * (kernel.*side - 1);
  });
  o.padding = {zeros.depth / 2, zeros.height / 2, zeros.width / 2};
  std::vector<std::int64_t> widths = {0, zeros.width % 2, 0, zeros.height % 2,
                                      0, zeros.depth % 2};
  widths.resize(2 * static_cast<std::size_t>(c.dims));
  const auto is_odd = [](std::int64_t width) { return width != 0; };
  if (std::any_of(widths.begin(), widths.end(), is_odd)) {
    c.x = pad(c.x, widths);
  }
}

template <typename Size>
Tensor convolution(const char* operation, const Tensor& x, const Tensor& weight,
                   const Tensor& bias, const ConvOptions<Size>& options) {
  return with_operands<Size>(
      operation, x, weight, bias, options, [&](Convolution c) {
        if (options.same_padding) pad_to_same_size(c);
        return convolve(ConvPass::kForward, shape_of_convolution(c),
                        {c.x, c.weight, c.bias});
      });
}

template <typename Size>
Tensor transposed(const char* operation, const Tensor& x, const Tensor& weight,
                  const Tensor& bias,
                  const ConvTransposeOptions<Size>& options) {
  return with_operands<Size>(
      operation, x, weight, bias, options, [&](const Convolution& c) {
        const ConvShape shape =
            shape_of_transposed(c, in_3d(options.output_padding, 0));
        const Tensor y =
            convolve(ConvPass::kBackwardData, shape, {c.x, c.weight, {}});
        if (!c.bias.defined()) return y;
        Dims columns = Dims::filled(static_cast<std::size_t>(c.dims) + 1, 1);
        columns[0] = shape.in;
        return y + reshape(c.bias, columns);
      });
}

}  // namespace
}  // namespace autograd

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options) {
  return autograd::convolution("conv1d", x, weight, bias, options);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  return autograd::convolution("conv2d", x, weight, bias, options);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv3dOptions& options) {
  return autograd::convolution("conv3d", x, weight, bias, options);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  return autograd::transposed("conv_transpose1d", x, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  return autograd::transposed("conv_transpose2d", x, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias,
                        const ConvTranspose3dOptions& options) {
  return autograd::transposed("conv_transpose3d", x, weight, bias, options);
}

}  // namespace hvd
