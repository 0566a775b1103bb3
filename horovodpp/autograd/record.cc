#include "horovodpp/autograd/record.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/accumulate_grad.h"
#include "horovodpp/autograd/autograd_meta.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/view_history.h"

namespace hvd::autograd {
namespace {

const Tensor& root_of(const Tensor& tensor) {
  const AutogradMeta* meta = tensor.impl()->meta.get();
  return meta != nullptr && meta->base.defined() ? meta->base : tensor;
}

// Whether, from the fastest dimension to the slowest, each steps over all that
// those before reach. Then no two elements lie on one place.
bool lies_apart(const Dims& sizes, const Dims& strides) {
  if (is_contiguous(sizes, strides)) return true;
  std::array<bool, Dims::kMax> seen{};
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::size_t next = sizes.size();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const bool less = next == sizes.size() || strides[d] < strides[next];
      if (!seen[d] && less) next = d;
    }
    seen[next] = true;
    if (sizes[next] == 1) continue;
    if (strides[next] <= reached) return false;
    reached += (sizes[next] - 1) * strides[next];
  }
  return true;
}

// The same, element by element.
bool some_places_are_one(const Dims& sizes, const Dims& strides) {
  std::vector<std::int64_t> places{0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::size_t count = places.size();
    for (std::int64_t i = 1; i < sizes[d]; ++i) {
      for (std::size_t k = 0; k < count; ++k) {
        places.push_back(places[k] + i * strides[d]);
      }
    }
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

// Why a view of this origin must not be written in place in grad mode; null if
// it may be.
const char* unwritable(ViewOrigin origin, bool needs_grad) {
  switch (origin) {
    case ViewOrigin::kUnrecordedOfGrad:
      return "a view that was created in no_grad mode is being modified in "
             "place with grad mode enabled, where its base could not know of "
             "it";
    case ViewOrigin::kInferenceMode:
      return "a view that was created in inference mode is being modified in "
             "place with grad mode enabled, where its base could not know of "
             "it";
    case ViewOrigin::kRecorded:
      return nullptr;
    default:
      break;
  }
  if (!needs_grad) return nullptr;
  if (origin == ViewOrigin::kOneOfSeveral) {
    return "a view that is one output of a function that returns multiple "
           "views is being modified in place";
  }
  if (origin == ViewOrigin::kCustomFunction) {
    return "a view that was created inside a custom Function is being modified "
           "in place, which would replace the gradient of that function";
  }
  return unwritable(ViewOrigin::kUnrecordedOfGrad, true);
}

}  // namespace

AutogradMeta& meta_of(const Tensor& tensor) {
  auto& meta = tensor.impl()->meta;
  if (meta == nullptr) meta.reset(new AutogradMeta);
  return *meta;
}

LeafHooks& AutogradMeta::make_hooks() {
  LeafHooks* existing = hooks.load(std::memory_order_acquire);
  if (existing == nullptr) {
    existing = new LeafHooks;
    hooks.store(existing, std::memory_order_release);
  }
  return *existing;
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

Tensor with_history(const Tensor& tensor, Ref<Node> node,
                    std::uint32_t output_nr) {
  Tensor result = tensor.detach();
  AutogradMeta& meta = meta_of(result);
  meta.output_nr = output_nr;
  meta.grad_fn = std::move(node);
  return result;
}

Tensor make_view(const Tensor& base, const Dims& sizes, const Dims& strides,
                 std::int64_t offset) {
  Tensor view = base.alias(sizes, strides, offset);
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
  return make_view(x, x.sizes(), x.strides(), x.storage_offset());
}

bool shares_memory(const Tensor& a, const Tensor& b) {
  const Storage& x = *a.impl()->storage;
  const Storage& y = *b.impl()->storage;
  const auto first = reinterpret_cast<std::uintptr_t>(x.data());
  const auto second = reinterpret_cast<std::uintptr_t>(y.data());
  return first < second + y.bytes() && second < first + x.bytes();
}

bool repeats_places(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return false;
  const Dims& sizes = tensor.sizes();
  const Dims& strides = tensor.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1) return true;
  }
  return !lies_apart(sizes, strides) && some_places_are_one(sizes, strides);
}

void check_inplace(const Tensor& self, bool needs_grad, const char* operation) {
  if (repeats_places(self)) {
    throw InvalidArgument(absl::StrCat(
        operation, ": several elements of the ", self.describe(),
        " written to lie on one place in memory; write to a clone() of it"));
  }
  check_fill(self, needs_grad, operation);
}

void check_fill(const Tensor& self, bool needs_grad, const char* operation) {
  if (self.impl()->inference && !is_inference_mode_enabled()) {
    throw InferenceError(absl::StrCat(
        operation, ": Inplace update to inference tensor (", self.describe(),
        ") outside InferenceMode is not allowed; write to a clone() of it"));
  }
  if (!is_grad_enabled()) return;
  if (const char* reason = unwritable(self.impl()->view_origin, needs_grad)) {
    throw ViewInplaceError(
        absl::StrCat(operation, ": ", reason,
                     "; write to a clone() of it, or to what it is a view of"));
  }
  if (!self.requires_grad()) return;
  const Tensor& root = root_of(self);
  if (!root.is_leaf()) return;
  throw LeafInplaceError(absl::StrCat(
      operation, root.is_same(self) ? ": a leaf" : ": a view of a leaf",
      " Variable that requires grad is being used in an in-place operation; "
      "modify it under NoGrad, or a clone() of it"));
}

void finish_inplace(const Tensor& self, Ref<Node> node, std::size_t edge) {
  self.bump_version();
  if (!node) return;
  const Tensor& root = root_of(self);
  if (!root.is_same(self)) {
    node->add_input(self);
    node = copy_slices(root, self, std::move(node), edge);
  }
  AutogradMeta& meta = meta_of(root);
  if (meta.retains_grad && meta.grad_fn) {
    meta.grad_fn->forget_grad_of(root.impl());
  }
  set_history(root, std::move(node));
  if (meta.retains_grad) {
    meta.grad_fn->retain_grad_of(root, meta.output_nr);
  }
}

}  // namespace hvd::autograd
