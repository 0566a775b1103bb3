// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/record.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/memory.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// y = as_strided(x):  dx = as_strided_backward(dy)
Ref<Node> as_strided_node(const Tensor& base, const Tensor& view) {
  return make_formula<FormulaNode>(
      "AsStridedBackward", base,
      [from = Geometry::of(base), to = Geometry::of(view)](Tensor& dy) {
        return as_strided_backward(dy, from, to);
      });
}

// Whether every element lies within the storage of x.
bool lies_within(const Tensor& x, const Dims& shape, const Dims& strides,
                 std::int64_t offset) {
  std::int64_t last = 0;
  if (shape.size() != strides.size() ||
      __builtin_add_overflow(x.storage_offset(), offset, &last) || last < 0 ||
      !shape.to_shape().checked(size_of(x.dtype())).ok()) {
    return false;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t span = 0;
    if (shape[d] == 0) return true;
    if (strides[d] < 0 ||
        __builtin_mul_overflow(shape[d] - 1, strides[d], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return false;
    }
  }
  const std::size_t room = x.impl()->storage->bytes() / size_of(x.dtype());
  return static_cast<std::size_t>(last) < room;
}

void check_within(const Tensor& x, const Dims& shape, const Dims& strides,
                  std::int64_t offset) {
  if (lies_within(x, shape, strides, offset)) return;
  throw InvalidArgument(
      absl::StrCat("as_strided: shape ", shape.to_string(), " with strides ",
                   strides.to_string(), " from element ", offset,
                   " on are not within the memory of ", x.describe()));
}

}  // namespace

Edge current_edge(const Tensor& tensor) {
  AutogradMeta* meta = tensor.impl()->meta.get();
  if (meta == nullptr) return {};
  if (!meta->base.defined()) return {meta->grad_fn, meta->output_nr};

  Ref<Node> replaced;  // Destroyed after the lock: a graph may go with it.
  SpinLockHolder lock(meta->lock);
  // The storage's version: an inference tensor refuses version().
  const std::uint32_t version = tensor.impl()->storage->version();
  const bool stale = !meta->grad_fn || meta->view_version != version;
  if (stale && meta->base.requires_grad()) {
    if (meta->retains_grad && meta->grad_fn) {
      meta->grad_fn->forget_grad_of(tensor.impl());
    }
    auto node = as_strided_node(meta->base, tensor);
    meta->output_nr = node->add_input(tensor);
    if (meta->retains_grad) node->retain_grad_of(tensor, meta->output_nr);
    replaced = std::move(meta->grad_fn);
    meta->grad_fn = std::move(node);
    meta->view_version = version;
  }
  return {meta->grad_fn, meta->output_nr};
}

Edge gradient_edge(const Tensor& tensor) {
  if (!tensor.requires_grad()) return {};
  if (Edge edge = current_edge(tensor)) return edge;
  return {grad_accumulator(tensor), 0};
}

void set_history(const Tensor& result, Ref<Node> node) {
  AutogradMeta& meta = meta_of(result);
  meta.output_nr = node->add_input(result);
  meta.grad_fn = std::move(node);
}

Tensor make_view(const Tensor& base, const Dims& shape, const Dims& strides,
                 std::int64_t offset) {
  Tensor view = base.alias(shape, strides, offset);
  const ViewOrigin inherited = base.impl()->view_origin;
  view.impl()->view_origin = inherited;
  if (is_unrecorded(inherited)) return view;
  if (is_grad_enabled()) {
    AutogradMeta& meta = meta_of(view);
    meta.base = root_of(base);
    meta.view_version = view.impl()->storage->version();
  } else if (!base.requires_grad()) {
    view.impl()->view_origin = ViewOrigin::kUnrecorded;
  } else {
    view.impl()->view_origin = is_inference_mode_enabled()
                                   ? ViewOrigin::kInferenceMode
                                   : ViewOrigin::kUnrecordedOfGrad;
  }
  return view;
}

Tensor unchanged(const Tensor& x) {
  if (is_grad_enabled() || !x.requires_grad()) return x;
  return make_view(x, x.shape(), x.strides(), x.storage_offset());
}

bool is_dense(const Geometry& g) { return is_dense(g.shape, g.strides); }

Tensor with_layout(const Tensor& tensor, const Geometry& geometry) {
  return clone_with_strides(tensor, is_dense(geometry)
                                        ? geometry.strides
                                        : contiguous_strides(geometry.shape));
}

Geometry around(const Geometry& a, const Geometry& b) {
  const auto end = [](const Geometry& g) {
    std::int64_t last = g.offset;
    for (std::size_t d = 0; d < g.shape.size(); ++d) {
      if (g.shape[d] == 0) return g.offset;
      last += (g.shape[d] - 1) * g.strides[d];
    }
    return last + 1;
  };
  const std::int64_t begin = std::min(a.offset, b.offset);
  return {{std::max(end(a), end(b)) - begin}, {1}, begin};
}

Tensor moved(const Tensor& x, const Geometry& from, const Geometry& to) {
  Tensor out;
  {
    NoGrad no_grad;
    const Geometry all = around(from, to);
    const Tensor memory = zeros(all.shape, {.dtype = x.dtype()});
    const auto at = [&](const Geometry& g) {
      return memory.alias(g.shape, g.strides, g.offset - all.offset);
    };
    scatter_add(at(from), x);
    const bool is_all = is_dense(to) && to.shape.product() == all.shape[0];
    out = is_all ? at(to) : with_layout(at(to), to);
  }
  if (needs_grad(x)) {
    record(out, "MovedBackward", x,
           [from, to](Tensor& dy) { return moved(dy, to, from); });
  }
  return out;
}

Tensor shared(const Tensor& gradient, const Geometry& tensor) {
  if (is_dense(tensor)) return gradient;
  const Tensor ones = full(tensor.shape, 1.0, {.dtype = gradient.dtype()});
  return div(gradient, moved(ones, tensor, tensor));
}

Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view) {
  return shared(moved(gradient, view, base), base);
}

Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides,
                  std::int64_t offset) {
  check_defined(x, "as_strided");
  check_within(x, shape, strides, offset);
  Tensor result = make_view(x, shape, strides, x.storage_offset() + offset);
  if (needs_grad(x)) set_history(result, as_strided_node(x, result));
  return result;
}

}  // namespace hvd::autograd
