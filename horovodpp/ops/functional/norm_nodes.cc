// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/norm_nodes.h"

#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

Edge edge_to(const Tensor& parameter) {
  return parameter.defined() ? gradient_edge(parameter) : Edge();
}

}  // namespace

void NormNode::release_saved() {
  input.release();
  weight.release();
  mean.release();
  rstd.release();
}

bool needs_grad(const NormOperands& operands) {
  return needs_grad(operands.x, operands.weight, operands.bias);
}

void save_norm(NormNode& node, const NormOperands& operands, const Tensor& mean,
               const Tensor& rstd) {
  node.add_edge(gradient_edge(operands.x));
  node.add_edge(edge_to(operands.weight));
  node.add_edge(edge_to(operands.bias));
  node.input.save(operands.x);
  if (operands.weight.defined()) {
    node.weight.save(operands.weight);
    node.dtypes[0] = operands.weight.dtype();
  }
  if (operands.bias.defined()) node.dtypes[1] = operands.bias.dtype();
  node.mean.save(mean);
  node.rstd.save(rstd);
}

namespace {

// [c] as [1, c, 1, ...], with as many dimensions as x.
Tensor along_channels(const Tensor& parameter, const Tensor& x) {
  Dims shape = Dims::filled(x.shape().size(), 1);
  shape[1] = x.size(1);
  return reshape(parameter, shape);
}

Dims all_but_channels(const Tensor& x) {
  Dims dims{0};
  for (std::int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

namespace {

bool has_channels_last(const Tensor& x) {
  return same_layout(x.shape(), x.strides(), channels_last_strides(x.shape()));
}

}  // namespace

Tensor for_channel_loops(const Tensor& x) {
  if (x.is_contiguous() || has_channels_last(x)) return x;
  return clone_with_strides(x.detach(), channels_last_strides(x.shape()));
}

ChannelSize channel_size(const Tensor& x) {
  const std::int64_t images = x.size(0), channels = x.size(1);
  const bool is_empty = images * channels == 0;
  return {.images = images,
          .channels = channels,
          .pixels = is_empty ? 0 : x.num_elements() / (images * channels),
          .channels_last = has_channels_last(x)};
}

Tensor parameter_in(DType dtype, const Tensor& parameter, std::int64_t channels,
                    double otherwise) {
  if (parameter.defined()) return to(parameter, dtype).contiguous();
  return full({channels}, otherwise, {.dtype = dtype});
}

template <typename T>
void BatchNormBackward::parameter_gradients(const std::vector<double>& sum,
                                            std::vector<double> dot, const T* r,
                                            std::span<Tensor> results) {
  const Dims shape{static_cast<std::int64_t>(sum.size())};
  for (std::size_t i = 0; i < dot.size(); ++i) dot[i] *= r[i];
  if (wants(1)) results[1] = to(from_vector(dot, shape), dtypes[0]);
  if (wants(2)) results[2] = to(from_vector(sum, shape), dtypes[1]);
}

namespace {

Tensor in_layout_of(const Tensor& x, const Tensor& gradient) {
  if (same_layout(x.shape(), x.strides(), gradient.strides())) return gradient;
  return clone_with_strides(gradient.detach(), x.strides());
}

}  // namespace

template <typename T>
void BatchNormBackward::apply_fused(const ChannelStatistics& s,
                                    const Tensor& grad,
                                    std::span<Tensor> results) {
  const Tensor x = for_channel_loops(widened(input.unpack(*this).detach()));
  const ChannelSize size = channel_size(x);
  const Tensor g = in_layout_of(x, widened(grad));
  const auto channels = static_cast<std::size_t>(size.channels);
  std::vector<double> sum(channels), dot(channels);
  sum_channels(size, {x.data<T>(), g.data<T>(), s.mean.data<T>(), sum.data(),
                      dot.data()});
  parameter_gradients(sum, dot, s.rstd.data<T>(), results);
  if (!wants(0)) return;
  const Tensor w =
      parameter_in(x.dtype(), weight.unpack(*this), size.channels, 1.0);
  std::vector<T> a(channels), b(channels), c(channels);
  for (std::size_t i = 0; i < channels; ++i) {
    const double r = s.rstd.data<T>()[i];
    const double factor = r * w.data<T>()[i];
    const double count = static_cast<double>(size.count());
    a[i] = static_cast<T>(factor);
    b[i] = training ? static_cast<T>(-factor * r * r * dot[i] / count) : T(0);
    c[i] = training ? static_cast<T>(-factor * sum[i] / count) : T(0);
  }
  const Tensor out = empty_like(x);
  if (training) {
    blend_channels(size, {x.data<T>(), g.data<T>(), s.mean.data<T>(), a.data(),
                          b.data(), c.data(), out.data<T>()});
  } else {  // Avoids x, which may be infinite.
    scale_channels(size, {g.data<T>(), a.data(), c.data(), out.data<T>()});
  }
  results[0] = to(out, grad.dtype());
}

void BatchNormBackward::apply_recorded(const ChannelStatistics& s,
                                       const Tensor& grad,
                                       std::span<Tensor> results) {
  const Tensor x = to(input.unpack(*this), s.mean.dtype());
  const Tensor g = to(grad, s.mean.dtype());
  const Dims over = all_but_channels(x);
  Tensor center = along_channels(s.mean, x);
  Tensor r = along_channels(s.rstd, x);
  if (training) {
    center = hvd::mean(x, over, true);
    const Tensor off = x - center;
    r = pow(hvd::mean(off * off, over, true) + eps, -0.5);
  }
  const Tensor z = (x - center) * r;
  if (wants(1)) results[1] = to(sum(g * z, over), dtypes[0]);
  if (wants(2)) results[2] = to(sum(g, over), dtypes[1]);
  if (!wants(0)) return;
  const Tensor w = weight.unpack(*this);
  const Tensor scale =
      w.defined() ? r * along_channels(to(w, s.mean.dtype()), x) : r;
  if (training) {
    results[0] = to(scale * (g - hvd::mean(g, over, true) -
                             z * hvd::mean(g * z, over, true)),
                    grad.dtype());
  } else {
    results[0] = to(scale * g, grad.dtype());
  }
}

void BatchNormBackward::apply(std::span<Tensor> grads,
                              std::span<Tensor> results) {
  const ChannelStatistics s{mean.unpack(*this), rstd.unpack(*this)};
  if (is_grad_enabled()) {
    apply_recorded(s, grads[0], results);
  } else {
    visit_floating(s.mean.dtype(), "batch_norm", [&]<typename T>(TypeTag<T>) {
      apply_fused<T>(s, grads[0], results);
    });
  }
}

}  // namespace hvd::autograd
