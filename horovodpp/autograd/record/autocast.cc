// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/autocast.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/operation_observer.h"

namespace hvd {
namespace autograd {

struct CachedCast {
  WeakTensor original;
  std::uint32_t version = 0;
  Tensor cast;
};
using CastCache = absl::flat_hash_map<const TensorImpl*, CachedCast>;

struct AutocastState {
  DType dtype = DType::kBF16;
  bool enabled = true;
  bool cache_enabled = true;
  // Shared with the outermost scope.
  std::shared_ptr<CastCache> cache;
};

namespace {

bool is_half(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

Tensor cached_cast(const Tensor& x, AutocastState& state) {
  const bool cacheable = state.cache_enabled && is_grad_enabled() &&
                         x.requires_grad() && x.is_leaf();
  if (!cacheable) return x.to(state.dtype);
  CachedCast& cached = (*state.cache)[x.impl()];
  const bool fresh =
      cached.cast.defined() && cached.original.lock().is_same(x) &&
      cached.version == x.version() && cached.cast.dtype() == state.dtype;
  if (!fresh) {
    // A cache hit must not change the sequence of operations that a region
    // sees.
    const WithinOperation cast_once;
    cached = {WeakTensor(x), x.version(), x.to(state.dtype)};
  }
  return cached.cast;
}

}  // namespace

Tensor autocast_lower(const Tensor& x) {
  AutocastState* state = graph_state.autocast;
  if (state == nullptr || !state->enabled || !x.defined()) return x;
  if (is_half(x.dtype())) return x.to(state->dtype);
  return x.dtype() == DType::kF32 ? cached_cast(x, *state) : x;
}

AutocastSetting current_autocast() {
  const AutocastState* state = graph_state.autocast;
  if (state == nullptr) return {};
  return {.dtype = state->dtype,
          .enabled = state->enabled,
          .cache_enabled = state->cache_enabled};
}

bool autocast_widens(const Tensor& x) {
  return is_autocast_active() && graph_state.autocast->enabled && x.defined() &&
         is_half(x.dtype());
}

Tensor autocast_wider(const Tensor& x) {
  return autocast_widens(x) ? x.to(DType::kF32) : x;
}

bool autocast_promotes(const Tensor& a, const Tensor& b) {
  return is_autocast_active() && graph_state.autocast->enabled && a.defined() &&
         b.defined() && a.dtype() != b.dtype() &&
         is_floating_point(a.dtype()) && is_floating_point(b.dtype());
}

void autocast_promote(Tensor& a, Tensor& b) {
  const bool double_wanted =
      a.dtype() == DType::kF64 || b.dtype() == DType::kF64;
  const DType wider = double_wanted ? DType::kF64 : DType::kF32;
  a = a.to(wider);
  b = b.to(wider);
}

}  // namespace autograd

Autocast::Autocast(DType dtype, const AutocastOptions& options)
    : state_(std::make_unique<autograd::AutocastState>()),
      outer_(autograd::graph_state.autocast) {
  if (options.enabled && !autograd::is_half(dtype)) {
    throw InvalidArgument(absl::StrCat(
        "Autocast: computes in bfloat16 or float16, not in ", name_of(dtype)));
  }
  state_->dtype = dtype;
  state_->enabled = options.enabled;
  state_->cache_enabled = options.cache_enabled;
  state_->cache = outer_ != nullptr ? outer_->cache
                                    : std::make_shared<autograd::CastCache>();
  autograd::graph_state.autocast = state_.get();
}

Autocast::~Autocast() { autograd::graph_state.autocast = outer_; }

}  // namespace hvd
