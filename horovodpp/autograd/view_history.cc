#include "horovodpp/autograd/view_history.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autograd_meta.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/graph_ops.h"
#include "horovodpp/autograd/record.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

bool is_dense(const Geometry& g) { return is_dense(g.sizes, g.strides); }

// `tensor` with the memory layout of `geometry`, whose sizes it has, from
// offset 0.
Tensor with_layout(const Tensor& tensor, const Geometry& geometry) {
  return clone_with_strides(tensor, is_dense(geometry)
                                        ? geometry.strides
                                        : contiguous_strides(geometry.sizes));
}

// The memory from the first element of either to the last, as one row.
Geometry around(const Geometry& a, const Geometry& b) {
  const auto end = [](const Geometry& g) {
    std::int64_t last = g.offset;
    for (std::size_t d = 0; d < g.sizes.size(); ++d) {
      if (g.sizes[d] == 0) return g.offset;
      last += (g.sizes[d] - 1) * g.strides[d];
    }
    return last + 1;
  };
  const std::int64_t begin = std::min(a.offset, b.offset);
  return {{std::max(end(a), end(b)) - begin}, {1}, begin};
}

Tensor moved(const Tensor& x, const Geometry& from, const Geometry& to);

// y = moved(x, from, to):  dx = moved(dy, to, from)
struct MovedBackward : Node {
  const char* name() const override { return "MovedBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = moved(grads[0], to, from);
  }
  Geometry from;
  Geometry to;
};

// What memory holds at `to` after x was added to its zeros at `from`.
Tensor moved(const Tensor& x, const Geometry& from, const Geometry& to) {
  Tensor out;
  {
    NoGrad no_grad;
    const Geometry all = around(from, to);
    const Tensor memory = zeros(all.sizes, {.dtype = x.dtype()});
    const auto at = [&](const Geometry& g) {
      return memory.alias(g.sizes, g.strides, g.offset - all.offset);
    };
    scatter_add(at(from), x);
    const bool is_all = is_dense(to) && to.sizes.product() == all.sizes[0];
    out = is_all ? at(to) : with_layout(at(to), to);
  }
  if (needs_grad(x)) {
    auto node = make_node<MovedBackward>(x);
    node->from = from;
    node->to = to;
    set_history(out, std::move(node));
  }
  return out;
}

// The gradient of each place, shared among the elements of `tensor` that lie on
// it.
Tensor shared(const Tensor& gradient, const Geometry& tensor) {
  if (is_dense(tensor)) return gradient;
  const Tensor ones = full(tensor.sizes, 1.0, {.dtype = gradient.dtype()});
  return div(gradient, moved(ones, tensor, tensor));
}

// y = as_strided(x):  dx = as_strided_backward(dy)
struct AsStridedBackward : Node {
  const char* name() const override { return "AsStridedBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = as_strided_backward(grads[0], base, view);
  }
  Geometry base;
  Geometry view;
};

// The base after `fn` wrote to the part `view`: the gradient of that part goes
// through fn, the rest passes.
struct CopySlices : Node {
  const char* name() const override { return "CopySlices"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    Tensor whole = laid_out(grads[0]);
    const Tensor slice =
        as_strided(whole, view.sizes, view.strides, view.offset - base.offset);
    std::vector<Tensor> slice_grads{slice.clone()};
    std::vector<Tensor> slice_results(fn->next_edges().size());
    fn->apply(slice_grads, slice_results);
    const Tensor written_grad = std::move(slice_results[written]);
    std::move(slice_results.begin(), slice_results.end(), results.begin());
    if (!wants(written)) return;
    // What shows a place twice was filled: its gradient is 0.
    if (written_grad.defined() && !repeats_places(slice)) {
      slice.copy_(written_grad);
    } else {
      slice.zero_();
    }
    results[written] = shared(whole, base);
  }
  void release_saved() override { fn->release_saved(); }

  // A copy of the base's gradient in which the view's lies where the view does.
  Tensor laid_out(const Tensor& gradient) const {
    const Geometry all = around(base, view);
    if (is_dense(base) && base.sizes.product() == all.sizes[0]) {
      return with_layout(gradient, base);
    }
    return as_strided(moved(gradient, base, all), base.sizes, base.strides,
                      base.offset - all.offset);
  }

  Geometry base;
  Geometry view;
  Ref<Node> fn;
  std::size_t written = 0;
};

Ref<Node> as_strided_node(const Tensor& base, const Tensor& view) {
  auto node = make_node<AsStridedBackward>(base);
  node->base = Geometry::of(base);
  node->view = Geometry::of(view);
  return node;
}

}  // namespace

Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view) {
  return shared(moved(gradient, view, base), base);
}

Edge current_edge(const Tensor& tensor) {
  AutogradMeta* meta = tensor.impl()->meta.get();
  if (meta == nullptr) return {};
  if (!meta->base.defined()) return {meta->grad_fn, meta->output_nr};

  Ref<Node> replaced;  // Dies after the lock: a graph may go with it.
  SpinLockHolder lock(meta->lock);
  // Not that of the tensor, which an inference tensor refuses to tell.
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

Ref<Node> copy_slices(const Tensor& base, const Tensor& view, Ref<Node> node,
                      std::size_t written) {
  auto slices = make_node<CopySlices>();
  const auto edges = node->next_edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    slices->add_edge(i == written ? gradient_edge(base) : edges[i]);
  }
  slices->written = written;
  slices->base = Geometry::of(base);
  slices->view = Geometry::of(view);
  slices->fn = std::move(node);
  return slices;
}

namespace {

// Whether there is memory of x's storage for every element.
bool lies_within(const Tensor& x, const Dims& sizes, const Dims& strides,
                 std::int64_t offset) {
  std::int64_t last = 0;
  if (sizes.size() != strides.size() ||
      __builtin_add_overflow(x.storage_offset(), offset, &last) || last < 0 ||
      !sizes.to_shape().checked(size_of(x.dtype())).ok()) {
    return false;
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t span = 0;
    if (sizes[d] == 0) return true;
    if (strides[d] < 0 ||
        __builtin_mul_overflow(sizes[d] - 1, strides[d], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return false;
    }
  }
  const std::size_t room = x.impl()->storage->bytes() / size_of(x.dtype());
  return static_cast<std::size_t>(last) < room;
}

void check_within(const Tensor& x, const Dims& sizes, const Dims& strides,
                  std::int64_t offset) {
  if (lies_within(x, sizes, strides, offset)) return;
  throw InvalidArgument(
      absl::StrCat("as_strided: sizes ", sizes.to_string(), " with strides ",
                   strides.to_string(), " from element ", offset,
                   " on are not within the memory of ", x.describe()));
}

}  // namespace

Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides,
                  std::int64_t offset) {
  check_defined(x, "as_strided");
  check_within(x, sizes, strides, offset);
  Tensor result = make_view(x, sizes, strides, x.storage_offset() + offset);
  if (needs_grad(x)) set_history(result, as_strided_node(x, result));
  return result;
}

}  // namespace hvd::autograd
