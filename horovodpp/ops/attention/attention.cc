// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/attention/attention_heads.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/composed.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The settings of a call, without q, k, v and the mask.
struct Settings {
  VisibleKeys visible = {};
  std::int64_t groups = 1;
  double scale = 1.0;
  std::optional<DropoutMask> dropout = std::nullopt;
};

// 1 / (1 - p) for kept weights, else 0.
Tensor kept_weights(const Dims& shape, DType dtype, const DropoutMask& mask) {
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  const Tensor out = ones(shape, {.dtype = wide});
  const std::int64_t keys = shape.back();
  visit_floating(wide, "attention", [&]<typename T>(TypeTag<T>) {
    T* row = out.data<T>();
    for (std::int64_t i = 0; i * keys < out.num_elements(); ++i, row += keys) {
      mask.apply(row, row, i * dropout_row(keys), keys);
    }
  });
  return to(out, dtype);
}

// [..., heads, rows, columns] -> [..., groups heads, rows, columns]: each head
// `groups` times in a row.
Tensor repeated_heads(const Tensor& x, std::int64_t groups) {
  if (groups == 1) return x;
  Dims shape = x.shape();
  shape[shape.size() - 3] *= groups;
  const Tensor apart = unsqueeze(x, -3);
  Dims repeated = apart.shape();
  repeated[repeated.size() - 3] = groups;
  return reshape(expand(apart, repeated), shape);
}

// bool [queries, keys]: true where a query sees a key.
Tensor visible_mask(const VisibleKeys& visible, std::int64_t queries,
                    std::int64_t keys) {
  const Tensor mask = zeros({queries, keys}, {.dtype = DType::kBool});
  bool* row = mask.data<bool>();
  for (std::int64_t i = 0; i < queries; ++i, row += keys) {
    const KeyRange sees = visible.of(i, keys);
    if (sees.size() > 0) std::fill(row + sees.begin, row + sees.end, true);
  }
  return mask;
}

// Attention from simpler operations. A softmax over no keys is NaN, so a row
// without keys uses scores of 0 and weights of 0.
Tensor composed_in_its_dtype(const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& mask, const Settings& settings) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const Tensor keys = repeated_heads(k, settings.groups);
  const Tensor values = repeated_heads(v, settings.groups);
  Tensor scores = matmul(q * settings.scale, transpose(keys, -2, -1));
  Tensor counts = mask;
  if (!settings.visible.are_all()) {
    counts = visible_mask(settings.visible, q.size(-2), k.size(-2));
  }
  if (counts.defined()) {
    scores = counts.dtype() == DType::kBool ? where(counts, scores, kNever)
                                            : add(scores, counts);
  }
  if (scores.size(-1) == 0) return matmul(scores, values);
  const Tensor sees = ne(max(scores.detach(), -1, true).values, kNever);
  Tensor weights = softmax(where(sees, scores, 0.0), -1);
  weights = where(sees, weights, 0.0);
  if (settings.dropout) {
    weights = weights *
              kept_weights(weights.shape(), weights.dtype(), *settings.dropout);
  }
  return matmul(weights, values);
}

// The same; 16-bit types compute in float and round once.
Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v,
                const Tensor& mask, const Settings& settings) {
  if (size_of(q.dtype()) != 2) {
    return composed_in_its_dtype(q, k, v, mask, settings);
  }
  Autocast off(q.dtype(), {.enabled = false});
  const auto wide = [](const Tensor& x) { return to(x, DType::kF32); };
  const bool is_added = mask.defined() && mask.dtype() != DType::kBool;
  const Tensor out = composed_in_its_dtype(
      wide(q), wide(k), wide(v), is_added ? wide(mask) : mask, settings);
  return to(out, q.dtype());
}

AttentionCall call_of(const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& mask, const Settings& settings) {
  AttentionCall call{.q = widened(q.detach()),
                     .k = widened(k.detach()),
                     .v = widened(v.detach()),
                     .mask = mask,
                     .visible = settings.visible,
                     .groups = settings.groups,
                     .scale = settings.scale,
                     .dropout = settings.dropout};
  if (mask.defined() && mask.dtype() != DType::kBool) {
    call.mask = widened(mask.detach());
  }
  return call;
}

struct AttentionBackward : Node {
  const char* name() const override { return "AttentionBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor query = q.unpack(*this);
    const Tensor key = k.unpack(*this);
    const Tensor value = v.unpack(*this);
    const Tensor added = mask.unpack(*this);
    if (is_grad_enabled()) {
      const auto all = composed_backward(
          [&](const std::vector<Tensor>& x) {
            return std::vector{composed(x[0], x[1], x[2], added, settings)};
          },
          {query, key, value}, {wants(0), wants(1), wants(2)}, {grads[0]});
      for (std::size_t i = 0; i < 3; ++i) results[i] = all[i];
      return;
    }
    AttentionResult kept;
    kept.sums = sums.unpack(*this);
    kept.weights = weights.unpack(*this);
    const auto gradients = attention_backward(
        call_of(query, key, value, added, settings), kept, widened(grads[0]));
    results[0] = to(gradients.q, query.dtype());
    results[1] = to(gradients.k, query.dtype());
    results[2] = to(gradients.v, query.dtype());
  }
  void release_saved() override {
    for (SavedTensor* saved : {&q, &k, &v, &mask, &sums, &weights}) {
      saved->release();
    }
  }
  SavedTensor q, k, v, mask, sums, weights;
  Settings settings;
};

void check_heads(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  if (!options.enable_gqa) return;
  const bool fits =
      q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3 &&
      k.size(-3) == v.size(-3) &&
      (k.size(-3) == 0 ? q.size(-3) == 0 : q.size(-3) % k.size(-3) == 0);
  if (fits) return;
  throw InvalidArgument(absl::StrCat(
      "attention: q ", q.describe(), ", k ", k.describe(), " and v ",
      v.describe(),
      " have no groups of heads; wanted are [..., heads, rows, width], and a "
      "multiple of the heads of k and v in q"));
}

// Whether `bounds` rises from 0 to `rows`.
bool are_bounds(const std::vector<std::int64_t>& bounds, std::int64_t rows) {
  return bounds.size() >= 2 && bounds.front() == 0 && bounds.back() == rows &&
         std::is_sorted(bounds.begin(), bounds.end());
}

void check_visible(const Tensor& q, const Tensor& k,
                   const AttentionOptions& options) {
  if (options.window < 0 || options.query_offset < 0 ||
      ((options.window > 0 || options.query_offset > 0) &&
       !options.is_causal)) {
    throw InvalidArgument(absl::StrCat(
        "attention: a window of ", options.window, " and a query_offset of ",
        options.query_offset,
        "; wanted are numbers that are not negative, with is_causal"));
  }
  if (options.cumulative_lengths.empty()) return;
  if (options.mask.defined() || options.query_offset > 0) {
    throw InvalidArgument(
        "attention: cumulative_lengths exclude a mask and a query_offset");
  }
  if (q.size(-2) != k.size(-2) ||
      !are_bounds(options.cumulative_lengths, k.size(-2))) {
    throw InvalidArgument(absl::StrCat(
        "attention: cumulative_lengths do not rise from 0 to the number of "
        "rows, for q ",
        q.describe(), " and k ", k.describe()));
  }
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                     const AttentionOptions& options) {
  check_same_dtype(q, k, "attention");
  check_same_dtype(q, v, "attention");
  const bool fits = q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 &&
                    q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  if (!fits || !is_floating_point(q.dtype())) {
    throw InvalidArgument(
        absl::StrCat("attention: q ", q.describe(), ", k ", k.describe(),
                     " and v ", v.describe(),
                     " do not go together; wanted are [..., queries, width], "
                     "[..., keys, width] and [..., keys, values]"));
  }
  if (options.mask.defined() && options.is_causal) {
    throw InvalidArgument(
        "attention: a mask and is_causal; put one into the other");
  }
  if (options.mask.defined() && options.mask.dtype() != DType::kBool) {
    check_same_dtype(q, options.mask, "attention: its mask");
  }
  check_heads(q, k, v, options);
  check_visible(q, k, options);
  if (!(options.dropout_p >= 0.0 && options.dropout_p <= 1.0)) {
    throw InvalidArgument(absl::StrCat("attention: dropout_p is ",
                                       options.dropout_p,
                                       "; wanted is a probability"));
  }
}

// The dimensions that operands broadcast: all but the last two or, with groups
// of heads, three.
Dims leading(const Tensor& x, bool without_heads) {
  Dims shape = x.shape();
  for (int i = without_heads ? 3 : 2; i > 0; --i) {
    shape.erase(shape.size() - 1);
  }
  return shape;
}

Tensor expanded(const Tensor& x, Dims shape, std::int64_t kept) {
  for (std::int64_t d = -kept; d < 0; ++d) shape.push_back(x.size(d));
  return x.shape() == shape ? x : expand(x, shape);
}

// Broadcasts the leading dimensions of q, k, v and the mask; returns the heads
// of q for each head of k.
std::int64_t broadcast_operands(Tensor& q, Tensor& k, Tensor& v, Tensor& mask,
                                bool gqa) {
  const Dims batch =
      broadcast(broadcast(leading(q, gqa), leading(k, gqa), "attention"),
                leading(v, gqa), "attention");
  for (Tensor* x : {&q, &k, &v}) *x = expanded(*x, batch, gqa ? 3 : 2);
  if (mask.defined()) {
    Dims shape = leading(q, false);
    shape.push_back(q.size(-2));
    shape.push_back(k.size(-2));
    if (mask.shape() != shape) mask = expand(mask, shape);
  }
  const bool shares = gqa && k.size(-3) > 0 && q.size(-3) > 0;
  return shares ? q.size(-3) / k.size(-3) : 1;
}

Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, const Settings& settings) {
  const bool keeps = needs_grad(q, k, v);
  auto [out, sums, weights] = result_of("attention", [&] {
    NoGrad no_grad;
    const AttentionResult result =
        attention_forward(call_of(q, k, v, mask, settings), keeps);
    return std::array{to(result.out, q.dtype()), result.sums, result.weights};
  });
  if (keeps) {
    auto node = make_node<AttentionBackward>(q, k, v);
    node->q.save(q);
    node->k.save(k);
    node->v.save(v);
    if (mask.defined()) node->mask.save(mask);
    node->sums.save(sums);
    if (weights.defined()) node->weights.save(weights);
    node->settings = settings;
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace
}  // namespace autograd

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                    const Tensor& value,
                                    const AttentionOptions& given) {
  AttentionOptions options = given;
  options.mask = autograd::autocast_lower(given.mask);
  Tensor q = autograd::autocast_lower(query);
  Tensor k = autograd::autocast_lower(key);
  Tensor v = autograd::autocast_lower(value);
  autograd::check_attention(q, k, v, options);
  Tensor mask = options.mask;
  autograd::Settings settings{
      .visible = {.is_causal = options.is_causal,
                  .window = options.window,
                  .query_offset = options.query_offset,
                  .bounds = options.cumulative_lengths}};
  settings.groups =
      autograd::broadcast_operands(q, k, v, mask, options.enable_gqa);
  settings.scale =
      options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  if (options.dropout_p > 0.0) {
    const std::int64_t rows =
        autograd::leading(q, false).product() * q.size(-2);
    settings.dropout.emplace(autograd::default_generator(),
                             rows * autograd::dropout_row(k.size(-2)),
                             options.dropout_p);
  }
  // Only the composition is differentiable in the mask.
  if (mask.defined() && autograd::needs_grad(mask)) {
    return autograd::composed(q, k, v, mask, settings);
  }
  return autograd::fused(q, k, v, mask, settings);
}

}  // namespace hvd
