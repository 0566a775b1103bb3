#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/blas.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/record.h"

namespace hvd {
namespace autograd {
namespace {

// Whether BLAS can read `x` where it lies, by rows or by columns; strides of
// dimensions of one element do not matter.
bool readable(std::int64_t inner_step, std::int64_t inner,
              std::int64_t outer_step, std::int64_t outer) {
  return (inner_step == 1 || inner == 1) &&
         (outer_step >= std::max<std::int64_t>(inner, 1) || outer == 1);
}

template <typename T>
blas::Matrix<const T> as_matrix(Tensor& x) {
  const auto rows = x.sizes()[0];
  const auto columns = x.sizes()[1];
  if (readable(x.strides()[1], columns, x.strides()[0], rows)) {
    return {x.data<T>(), std::max({x.strides()[0], columns, std::int64_t{1}})};
  }
  if (readable(x.strides()[0], rows, x.strides()[1], columns)) {
    return {x.data<T>(), std::max({x.strides()[1], rows, std::int64_t{1}}),
            true};
  }
  x = clone(x);
  return {x.data<T>(), std::max<std::int64_t>(columns, 1)};
}

// [m,k] [k,n] -> [m,n], not recorded. 16-bit operands are multiplied and added
// up in float32.
Tensor product(const Tensor& left, const Tensor& right, const char* operation) {
  NoGrad no_grad;
  Tensor a = widened(left);
  Tensor b = widened(right);
  const blas::GemmSize size{a.sizes()[0], b.sizes()[1], a.sizes()[1]};
  if (size.m == 0 || size.n == 0 || size.k == 0) {
    return zeros({size.m, size.n}, {.dtype = left.dtype()});
  }
  Tensor out = empty({size.m, size.n}, {.dtype = a.dtype()});
  visit_floating(a.dtype(), operation, [&]<typename T>(TypeTag<T>) {
    blas::gemm(size, as_matrix<T>(a), as_matrix<T>(b),
               blas::Matrix<T>{out.data<T>(), size.n});
  });
  return to(out, left.dtype());
}

// c = a b:  da = dc b^T,  db = a^T dc
struct MatmulBackward : Node {
  const char* name() const override { return "MatmulBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) {
      results[0] = matmul(grads[0], transpose(b.unpack(*this), 0, 1));
    }
    if (wants(1)) {
      results[1] = matmul(transpose(a.unpack(*this), 0, 1), grads[0]);
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
    // The parameters first: their gradients go to the leaves.
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

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same_dtype(x, weight, "linear");
  if (bias.defined()) check_same_dtype(x, bias, "linear");
  const bool fits = x.dim() >= 1 && weight.dim() == 2 &&
                    x.size(-1) == weight.size(1) &&
                    (!bias.defined() || bias.sizes() == Dims({weight.size(0)}));
  if (fits) return;
  throw InvalidArgument(absl::StrCat(
      "linear: input ", x.shape().to_string(), " does not go with weight ",
      weight.shape().to_string(),
      bias.defined() ? absl::StrCat(" and bias ", bias.shape().to_string())
                     : "",
      "; wanted are [..., in], [out, in] and [out]"));
}

void add_to_rows(const Tensor& rows, const Tensor& bias) {
  visit_any_floating(rows.dtype(), "linear", [&]<typename T>(TypeTag<T>) {
    map2<T>(rows, rows, bias, [](auto a, auto b) { return a + b; });
  });
}

}  // namespace
}  // namespace autograd

Tensor matmul(const Tensor& left, const Tensor& right) {
  const Tensor a = autograd::autocast_lower(left);
  const Tensor b = autograd::autocast_lower(right);
  autograd::check_same_dtype(a, b, "matmul");
  if (a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0)) {
    throw InvalidArgument(
        absl::StrCat("matmul: shapes ", a.shape().to_string(), " and ",
                     b.shape().to_string(),
                     " do not multiply; wanted are [m, k] and [k, n]"));
  }
  Tensor out = autograd::product(a, b, "matmul");
  if (autograd::needs_grad(a, b)) {
    auto node = autograd::make_node<autograd::MatmulBackward>(a, b);
    if (node->wants(1)) node->a.save(a);
    if (node->wants(0)) node->b.save(b);
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor linear(const Tensor& input, const Tensor& matrix, const Tensor& offset) {
  const Tensor x = autograd::autocast_lower(input);
  const Tensor weight = autograd::autocast_lower(matrix);
  const Tensor bias = autograd::autocast_lower(offset);
  autograd::check_linear(x, weight, bias);
  if (x.dim() != 2) {
    autograd::Dims sizes = x.sizes();
    sizes[sizes.size() - 1] = weight.size(0);
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d];
    return reshape(linear(reshape(x, {rows, weight.size(1)}), weight, bias),
                   sizes);
  }
  Tensor out = autograd::product(
      x,
      autograd::alias(weight, {weight.size(1), weight.size(0)},
                      {weight.strides()[1], weight.strides()[0]},
                      weight.storage_offset()),
      "linear");
  const bool with_bias = bias.defined();
  if (with_bias) autograd::add_to_rows(out, bias);
  const bool recorded = autograd::needs_grad(x, weight) ||
                        (with_bias && autograd::needs_grad(bias));
  if (recorded) {
    auto node = autograd::make_node<autograd::LinearBackward>(x, weight);
    if (with_bias) node->add_edge(autograd::gradient_edge(bias));
    if (node->wants(1)) node->x.save(x);
    if (node->wants(0)) node->weight.save(weight);
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
