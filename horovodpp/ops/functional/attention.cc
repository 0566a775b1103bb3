// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/attention.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/attention_heads.h"
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
  bool is_causal = false;
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

// Attention from simpler operations. A softmax over no keys is NaN, so a row
// without keys uses scores of 0 and weights of 0.
Tensor composed_in_its_dtype(const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& mask, const Settings& settings) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q * settings.scale, transpose(k, -2, -1));
  Tensor counts = mask;
  if (settings.is_causal) {
    const Tensor i = unsqueeze(arange(0, static_cast<double>(q.size(-2))), 1);
    counts = ge(i, arange(0, static_cast<double>(k.size(-2))));
  }
  if (counts.defined()) {
    scores = counts.dtype() == DType::kBool ? where(counts, scores, kNever)
                                            : add(scores, counts);
  }
  if (scores.size(-1) == 0) return matmul(scores, v);
  const Tensor sees = ne(max(scores.detach(), -1, true).values, kNever);
  Tensor weights = softmax(where(sees, scores, 0.0), -1);
  weights = where(sees, weights, 0.0);
  if (settings.dropout) {
    weights = weights *
              kept_weights(weights.shape(), weights.dtype(), *settings.dropout);
  }
  return matmul(weights, v);
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
                     .is_causal = settings.is_causal,
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
  if (!(options.dropout_p >= 0.0 && options.dropout_p <= 1.0)) {
    throw InvalidArgument(absl::StrCat("attention: dropout_p is ",
                                       options.dropout_p,
                                       "; wanted is a probability"));
  }
}

Dims leading(const Tensor& x) {
  Dims shape = x.shape();
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

Tensor expanded(const Tensor& x, const Dims& batch, std::int64_t rows,
                std::int64_t columns) {
  Dims shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return x.shape() == shape ? x : expand(x, shape);
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
  using autograd::expanded;
  AttentionOptions options = given;
  options.mask = autograd::autocast_lower(given.mask);
  Tensor q = autograd::autocast_lower(query);
  Tensor k = autograd::autocast_lower(key);
  Tensor v = autograd::autocast_lower(value);
  autograd::check_attention(q, k, v, options);
  const autograd::Dims batch = autograd::broadcast(
      autograd::broadcast(autograd::leading(q), autograd::leading(k),
                          "attention"),
      autograd::leading(v), "attention");
  q = expanded(q, batch, q.size(-2), q.size(-1));
  k = expanded(k, batch, k.size(-2), k.size(-1));
  v = expanded(v, batch, v.size(-2), v.size(-1));
  Tensor mask = options.mask;
  if (mask.defined()) mask = expanded(mask, batch, q.size(-2), k.size(-2));
  autograd::Settings settings{.is_causal = options.is_causal};
  settings.scale =
      options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  if (options.dropout_p > 0.0) {
    const std::int64_t rows = batch.product() * q.size(-2);
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
