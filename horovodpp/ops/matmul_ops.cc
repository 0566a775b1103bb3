// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/matmul_ops.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/products.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/elementwise.h"

namespace hvd {
namespace autograd {
namespace {

// c = a b:  da = dc b^T,  db = a^T dc; the engine sums over broadcast
// dimensions.
struct MatmulBackward : Node {
  const char* name() const override { return "MatmulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) {
      results[0] = matmul(grads[0], transpose(b.unpack(*this), -2, -1));
    }
    if (wants(1)) {
      results[1] = matmul(transpose(a.unpack(*this), -2, -1), grads[0]);
    }
  }
  void release_saved() override {
    a.release();
    b.release();
  }
  SavedTensor a;
  SavedTensor b;
};

// y = x w^T + b:  dx = dy w,  dw = dy^T x,  db = sum of the rows of dy
struct LinearBackward : Node {
  const char* name() const override { return "LinearBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor& grad = grads[0];
    // Parameters first: their gradients go to leaves.
    if (wants(1)) {
      results[1] = matmul(transpose(grad, 0, 1), x.unpack(*this));
    }
    if (next_edges().size() > 2 && wants(2)) results[2] = sum(grad, {0});
    if (wants(0)) results[0] = matmul(grad, weight.unpack(*this));
  }
  void release_saved() override {
    x.release();
    weight.release();
  }
  SavedTensor x;
  SavedTensor weight;
};

void check_matmul(const Tensor& a, const Tensor& b) {
  check_same_dtype(a, b, "matmul");
  const bool vectors = a.dim() == 0 || b.dim() == 0;
  if (!vectors && a.size(-1) == b.size(b.dim() == 1 ? 0 : -2)) return;
  throw InvalidArgument(
      absl::StrCat("matmul: shapes ", a.shape().to_string(), " and ",
                   b.shape().to_string(), " do not multiply; wanted are ",
                   "[..., m, k] and [..., k, n], or [k] for a vector"));
}

// [..., n] as [rows, n].
Tensor as_matrix(const Tensor& x) {
  std::int64_t rows = 1;
  for (std::int64_t d = 0; d + 1 < x.dim(); ++d) rows *= x.size(d);
  return reshape(x, {rows, x.size(-1)});
}

// x w + b:  x [..., in], w [in], b [] or undefined
Tensor linear_of_vector(const Tensor& x, const Tensor& w, const Tensor& b) {
  check_same_dtype(x, w, "linear");
  if (b.defined()) check_same_dtype(x, b, "linear");
  const bool fits = x.dim() >= 1 && x.size(-1) == w.size(0) &&
                    (!b.defined() || (x.dim() == 1 && b.dim() == 0));
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "linear: input ", x.shape().to_string(),
        " does not go with the vector ", w.shape().to_string(), " as weight",
        b.defined() ? absl::StrCat(" and bias ", b.shape().to_string()) : "",
        "; wanted are [..., in] and [in], or [in], [in] and []"));
  }
  const Tensor product = matmul(x, w);
  return b.defined() ? add(product, b) : product;
}

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same_dtype(x, weight, "linear");
  if (bias.defined()) check_same_dtype(x, bias, "linear");
  const bool fits = x.dim() >= 1 && weight.dim() == 2 &&
                    x.size(-1) == weight.size(1) &&
                    (!bias.defined() || bias.shape() == Dims({weight.size(0)}));
  if (fits) return;
  throw InvalidArgument(absl::StrCat(
      "linear: input ", x.shape().to_string(), " does not go with weight ",
      weight.shape().to_string(),
      bias.defined() ? absl::StrCat(" and bias ", bias.shape().to_string())
                     : "",
      "; wanted are [..., in], [out, in] and [out]"));
}

void add_to_rows(const Tensor& rows, const Tensor& bias) {
  run<functors::Add>({.out = rows, .x = rows, .y = &bias}, "linear");
}

}  // namespace

Tensor times_factor(const Tensor& x, double factor, const char* operation) {
  if (factor == 1.0) return x;
  if (is_floating_point(x.dtype())) return mul(x, factor);
  if (factor != std::trunc(factor) || std::abs(factor) > 0x1p53) {
    throw InvalidArgument(absl::StrCat(operation, ": the factor ", factor,
                                       " of integers is not whole; convert ",
                                       "them with to()"));
  }
  return mul(x, static_cast<std::int64_t>(factor));
}

}  // namespace autograd

Tensor matmul(const Tensor& left, const Tensor& right) {
  const Tensor a = autograd::autocast_lower(left);
  const Tensor b = autograd::autocast_lower(right);
  autograd::check_matmul(a, b);
  if (a.dim() == 1) {
    return autograd::without(matmul(unsqueeze(a, 0), b),
                             b.dim() == 1 ? -1 : -2);
  }
  if (b.dim() == 1) return autograd::without(matmul(a, unsqueeze(b, 1)), -1);
  if (a.dim() > 2 && b.dim() == 2) {
    autograd::Dims shape = a.shape();
    shape[shape.size() - 1] = b.size(1);
    return autograd::resized(matmul(autograd::as_matrix(a), b), shape);
  }
  // Saves before computing, so that a recomputation can stop after the last
  // saved tensor.
  autograd::Ref<autograd::MatmulBackward> node;
  if (autograd::needs_grad(a, b)) {
    node = autograd::make_node<autograd::MatmulBackward>(a, b);
    if (node->wants(1)) node->a.save(a);
    if (node->wants(0)) node->b.save(b);
  }
  Tensor out = autograd::result_of(
      "matmul", [&] { return autograd::product(a, b, "matmul"); });
  if (node) autograd::set_history(out, std::move(node));
  return out;
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  autograd::check_defined(a, "bmm");
  autograd::check_defined(b, "bmm");
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) ||
      a.size(2) != b.size(1)) {
    throw InvalidArgument(absl::StrCat(
        "bmm: shapes ", a.shape().to_string(), " and ", b.shape().to_string(),
        " do not multiply; wanted are [n, m, k] and [n, k, p]"));
  }
  return matmul(a, b);
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b,
             const AddmmOptions& options) {
  if (a.defined() && b.defined() && (a.dim() != 2 || b.dim() != 2)) {
    throw InvalidArgument(absl::StrCat("addmm: shapes ", a.shape().to_string(),
                                       " and ", b.shape().to_string(),
                                       " are not [m, k] and [k, n]"));
  }
  Tensor out = matmul(a, b);
  const bool is_added = options.beta != 0.0;
  if (is_added) autograd::check_defined(x, "addmm");
  if (x.defined() && !autograd::broadcasts_to(x.shape(), out.shape())) {
    throw InvalidArgument(absl::StrCat(
        "addmm: shape ", x.shape().to_string(), " does not broadcast to ",
        out.shape().to_string(), ", the shape of the product"));
  }
  out = autograd::times_factor(out, options.alpha, "addmm");
  // With a factor of 0, x is ignored, even a NaN.
  if (!is_added) return out;
  return add(out, autograd::times_factor(x, options.beta, "addmm"));
}

Tensor linear(const Tensor& input, const Tensor& matrix, const Tensor& offset) {
  const Tensor x = autograd::autocast_lower(input);
  const Tensor weight = autograd::autocast_lower(matrix);
  const Tensor bias = autograd::autocast_lower(offset);
  if (weight.defined() && weight.dim() == 1) {
    autograd::check_defined(x, "linear");
    return autograd::linear_of_vector(x, weight, bias);
  }
  autograd::check_linear(x, weight, bias);
  if (x.dim() != 2) {
    autograd::Dims shape = x.shape();
    shape[shape.size() - 1] = weight.size(0);
    return autograd::resized(linear(autograd::as_matrix(x), weight, bias),
                             shape);
  }
  const bool with_bias = bias.defined();
  const bool recorded = autograd::needs_grad(x, weight, bias);
  autograd::Ref<autograd::LinearBackward> node;  // Saves first, as matmul.
  if (recorded) {
    node = autograd::make_node<autograd::LinearBackward>(x, weight);
    if (with_bias) node->add_edge(autograd::gradient_edge(bias));
    if (node->wants(1)) node->x.save(x);
    if (node->wants(0)) node->weight.save(weight);
  }
  Tensor out = autograd::result_of("linear", [&] {
    const Tensor turned = weight.alias(
        {weight.size(1), weight.size(0)},
        {weight.strides()[1], weight.strides()[0]}, weight.storage_offset());
    const Tensor y = autograd::product(x, turned, "linear");
    if (with_bias) autograd::add_to_rows(y, bias);
    return y;
  });
  if (node) autograd::set_history(out, std::move(node));
  return out;
}

}  // namespace hvd
