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

// `tensor` with the memory layout of `geometry`, whose sizes it has, from
// offset 0.
Tensor with_layout(const Tensor& tensor, const Geometry& geometry) {
  return clone_with_strides(tensor, is_dense(geometry.sizes, geometry.strides)
                                        ? geometry.strides
                                        : contiguous_strides(geometry.sizes));
}

// dx = the places that y shows, added up; and back.
struct AsStridedScatterBackward : Node {
  const char* name() const override { return "AsStridedScatterBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = as_strided(with_layout(grads[0], base), view.sizes,
                            view.strides, view.offset - base.offset);
  }
  Geometry base;
  Geometry view;
};

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
    Tensor whole = with_layout(grads[0], base);
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
    results[written] = std::move(whole);
  }
  void release_saved() override { fn->release_saved(); }

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
  const Dims strides = is_dense(base.sizes, base.strides)
                           ? base.strides
                           : contiguous_strides(base.sizes);
  Tensor result = empty_strided(base.sizes, strides, gradient.dtype());
  {
    NoGrad no_grad;
    result.zero_();
    const Tensor places =
        as_strided(result, view.sizes, view.strides, view.offset - base.offset);
    scatter_add(places, gradient);
  }
  if (needs_grad(gradient)) {
    auto node = make_node<AsStridedScatterBackward>(gradient);
    node->base = base;
    node->view = view;
    set_history(result, std::move(node));
  }
  return result;
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
