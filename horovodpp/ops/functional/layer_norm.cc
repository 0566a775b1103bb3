// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/norms.h"

#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/norms/half_norms.h"
#include "horovodpp/kernel/norms/norm_loops.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/norm_nodes.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

MatrixSize matrix_size(const Tensor& x, const Dims& shape) {
  const std::int64_t n = shape.product();
  return {n == 0 ? 0 : x.num_elements() / n, n};
}

// `parameter` in this dtype; stays undefined.
Tensor parameter_as(DType dtype, const Tensor& parameter) {
  return parameter.defined() ? to(parameter, dtype).contiguous() : Tensor();
}
template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// y, and the mean and rstd of each row, for x of type X, computed in T.
template <typename X, typename T>
void normalize(const MatrixSize& size, const NormOperands& operands, double eps,
               const std::array<Tensor, 3>& results) {
  const auto& [y, mean, rstd] = results;
  normalize_rows(
      size,
      RowNorm<X, T>{operands.x.data<X>(), data_or_null<T>(operands.weight),
                    data_or_null<T>(operands.bias), eps, y.data<X>(),
                    mean.data<T>(), rstd.data<T>()});
}

// z = (x - mean) rstd, y = z w + b, means over the last dimensions:
//   dx = rstd (w dy - mean w dy - z mean w dy z),  dw = sum dy z,  db = sum dy
struct LayerNormBackward : NormNode {
  const char* name() const override { return "LayerNormBackward"; }

  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (is_grad_enabled()) {
      apply_recorded(grads[0], results);
    } else {
      visit_any_floating(grads[0].dtype(), "layer_norm",
                         [&]<typename X>(TypeTag<X>) {
                           apply_fused<X, Loaded<X>>(grads[0], results);
                         });
    }
  }

  // Computes in T, float or double; x and the gradient are of type X.
  template <typename X, typename T>
  void apply_fused(const Tensor& grad, std::span<Tensor> results) {
    const Tensor x = input.unpack(*this).detach().contiguous();
    const Tensor g = grad.detach().contiguous();
    const Tensor w = parameter_as(computed_in, weight.unpack(*this));
    // Held while the loop reads them: a checkpoint's may have no other owner.
    const Tensor means = mean.unpack(*this);
    const Tensor rstds = rstd.unpack(*this);
    const MatrixSize size = matrix_size(x, shape);
    const auto columns = static_cast<std::size_t>(size.columns);
    std::vector<double> dw(wants(1) ? columns : 0);
    std::vector<double> db(wants(2) ? columns : 0);
    const Tensor out = wants(0) ? empty_like(x) : Tensor();
    const RowNormGradient<X, T> gradients{
        .x = x.data<X>(),
        .g = g.data<X>(),
        .weight = data_or_null<T>(w),
        .mean = means.data<T>(),
        .rstd = rstds.data<T>(),
        .x_gradient = wants(0) ? out.data<X>() : nullptr,
        .weight_gradient = wants(1) ? dw.data() : nullptr,
        .bias_gradient = wants(2) ? db.data() : nullptr};
    normalize_rows_backward(size, gradients);
    if (wants(0)) results[0] = out;
    if (wants(1)) results[1] = to(from_vector(dw, shape), dtypes[0]);
    if (wants(2)) results[2] = to(from_vector(db, shape), dtypes[1]);
  }

  // The same with recorded operations.
  void apply_recorded(const Tensor& grad, std::span<Tensor> results) {
    const Tensor x = to(input.unpack(*this), computed_in);
    const Tensor g = to(grad, computed_in);
    Dims over, others;
    const std::int64_t first =
        x.dim() - static_cast<std::int64_t>(shape.size());
    for (std::int64_t d = 0; d < x.dim(); ++d) {
      (d < first ? others : over).push_back(d);
    }
    const Tensor off = x - hvd::mean(x, over, true);
    const Tensor r = pow(hvd::mean(off * off, over, true) + eps, -0.5);
    const Tensor z = off * r;
    const auto summed = [&](const Tensor& t) {
      return others.empty() ? t : sum(t, others);
    };
    if (wants(1)) results[1] = to(summed(g * z), dtypes[0]);
    if (wants(2)) results[2] = to(summed(g), dtypes[1]);
    if (!wants(0)) return;
    const Tensor w = weight.unpack(*this);
    const Tensor wg = w.defined() ? g * to(w, computed_in) : g;
    results[0] = to(r * (wg - hvd::mean(wg, over, true) -
                         z * hvd::mean(wg * z, over, true)),
                    grad.dtype());
  }

  Dims shape;
  DType computed_in = DType::kF32;
};

void check_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                      const Tensor& bias) {
  check_defined(x, "layer_norm");
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), "layer_norm", "floating point");
  }
  bool fits = !shape.empty() && shape.size() <= x.shape().size();
  const std::size_t first = fits ? x.shape().size() - shape.size() : 0;
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = x.shape()[first + d] == shape[d];
  }
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "layer_norm: the normalized shape ", shape.to_string(),
        " is not that of the last dimensions of input ", x.describe()));
  }
  const bool wide = size_of(x.dtype()) >= size_of(DType::kF32);
  for (const Tensor& p : {weight, bias}) {
    if (!p.defined()) continue;
    const bool same =
        p.dtype() == x.dtype() || (!wide && p.dtype() == DType::kF32);
    if (same && p.shape() == shape) continue;
    throw InvalidArgument(absl::StrCat(
        "layer_norm: ", p.describe(), " does not go with input ", x.describe(),
        "; wanted is the normalized shape ", shape.to_string(),
        ", in its dtype", wide ? "" : " or in float32"));
  }
}

}  // namespace
}  // namespace autograd

Tensor layer_norm(const Tensor& x, const autograd::Dims& shape,
                  const Tensor& weight, const Tensor& bias, double eps) {
  autograd::check_layer_norm(x, shape, weight, bias);
  auto [out, mean, rstd] = autograd::result_of("layer_norm", [&] {
    NoGrad no_grad;
    const Tensor rows = x.detach().contiguous();
    const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const Tensor w = autograd::parameter_as(dtype, weight);
    const Tensor b = autograd::parameter_as(dtype, bias);
    const autograd::MatrixSize size = autograd::matrix_size(rows, shape);
    const std::array results{empty(x.shape(), {.dtype = x.dtype()}),
                             empty({size.rows}, {.dtype = dtype}),
                             empty({size.rows}, {.dtype = dtype})};
    autograd::visit_any_floating(x.dtype(), "layer_norm",
                                 [&]<typename X>(TypeTag<X>) {
                                   autograd::normalize<X, autograd::Loaded<X>>(
                                       size, {rows, w, b}, eps, results);
                                 });
    return results;
  });
  const autograd::NormOperands operands{x, weight, bias};
  if (autograd::needs_grad(operands)) {
    auto node = autograd::make_node<autograd::LayerNormBackward>();
    autograd::save_norm(*node, operands, mean, rstd);
    node->computed_in = mean.dtype();
    node->shape = shape;
    node->eps = eps;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
