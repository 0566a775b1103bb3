// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/attention_heads.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/kernel/workers.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/attention_scores.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// Weights are kept up to this number of keys.
constexpr std::int64_t kFewKeys = 64;

// Replaces scores by powers; stores the largest score and the sum in `kept`.
template <typename T>
void raise(T* row, std::size_t n, T* kept) {
  const T largest = rows::max(row, n);
  const bool sees_none = largest == -std::numeric_limits<T>::infinity();
  kept[0] = largest;
  kept[1] = T(0);
  if (sees_none) {
    std::fill_n(row, n, T(0));
  } else {
    kept[1] = static_cast<T>(rows::exp_sum(row, largest, row, n));
  }
}

// The factor that turns powers into weights.
template <typename T>
T factor(const T* kept) {
  return kept[1] == T(0) ? T(0) : T(1) / kept[1];
}

// Turns scores into weights, from `kept`.
template <typename T>
void weigh_again(T* row, std::size_t n, const T* kept) {
  if (kept[1] == T(0)) {
    std::fill_n(row, n, T(0));
  } else {
    rows::scaled_exp(row, kept[0], factor(kept), row, n);
  }
}

// Several workers need products on one thread each, and a loop on several
// threads must not throw, as a product does that is too large.
template <typename T>
std::int64_t most_workers(const Scores<T>& scores) {
  const bool several = std::is_same_v<T, float> &&
                       blas::float_products_share_openmp() &&
                       scores.fits_blas();
  return several ? std::numeric_limits<std::int64_t>::max() : 1;
}

template <typename T>
class Forward {
 public:
  Forward(const Scores<T>& scores, const AttentionCall& call,
          const AttentionResult& result)
      : scores_(scores),
        call_(call),
        result_(result),
        queries_(static_cast<std::size_t>(scores.block() * call.width())),
        block_(scores.block(), call.keys()) {}

  // Attention of queries [begin, end), of at most one block.
  void run_block(std::int64_t head, std::int64_t begin, std::int64_t end) {
    const std::int64_t keys = scores_.seen(end);
    const std::int64_t values = call_.values();
    const std::int64_t first = head * call_.queries() + begin;
    T* sums = result_.sums.data<T>() + 2 * first;
    T* out = result_.out.data<T>() + first * values;
    const blas::Matrix<T> powers{block_.data(), block_.stride()};
    scores_.compute(head, begin, end,
                    scores_.scaled_queries(head, begin, end, queries_.data()),
                    powers);
    for (std::int64_t i = 0; i < end - begin; ++i) {
      T* row = powers.data + i * powers.stride;
      raise(row, static_cast<std::size_t>(keys), sums + 2 * i);
      if (result_.weights.defined()) {
        T* kept = result_.weights.data<T>() + (first + i) * call_.keys();
        rows::apply<functors::MulScalar>(row, nullptr, factor(sums + 2 * i),
                                         kept, static_cast<std::size_t>(keys));
        std::fill(kept + keys, kept + call_.keys(), T{0});
      }
      if (call_.dropout) scores_.drop(row, head, begin + i, keys);
    }
    blas::gemm({end - begin, values, keys},
               blas::Matrix<const T>{powers.data, powers.stride},
               scores_.v(head).rows_from(0), blas::Matrix<T>{out, values});
    for (std::int64_t i = 0; i < end - begin; ++i) {
      T* row = out + i * values;
      rows::apply<functors::MulScalar>(row, nullptr, factor(sums + 2 * i), row,
                                       static_cast<std::size_t>(values));
    }
  }

  const Scores<T>& scores_;
  const AttentionCall& call_;
  const AttentionResult& result_;
  std::vector<T> queries_;
  ScoreBlock<T> block_;
};

template <typename T>
void forward_of_type(AttentionCall& call, const AttentionResult& result) {
  const Scores<T> scores(call);
  const std::int64_t queries = call.queries(), block = scores.block();
  const std::int64_t blocks = (queries + block - 1) / block;
  run_tasks(
      {.count = scores.heads() * blocks, .cost = block * call.keys()},
      most_workers(scores), [&] { return Forward<T>(scores, call, result); },
      [&](Forward<T>& worker, std::int64_t i) {
        const std::int64_t begin = i % blocks * block;
        worker.run_block(i / blocks, begin, std::min(begin + block, queries));
      });
}

// The gradients of one block of queries. With weights P and their gradient D,
// the scores have the gradient S = P (D - sum D P).
template <typename T>
class Backward {
 public:
  Backward(const Scores<T>& scores, const AttentionCall& call,
           const AttentionResult& saved, const Tensor& grad,
           const AttentionGradients& result)
      : scores_(scores),
        call_(call),
        saved_(saved),
        grad_(grad.data<T>()),
        result_(result),
        queries_(static_cast<std::size_t>(scores.block() * call.width())),
        weights_(scores.block(), call.keys()),
        gradients_(scores.block(), call.keys()) {
    if (call.dropout) dropped_ = {scores.block(), call.keys()};
  }

  // Blocks in order: all add to the gradients of the head's keys.
  void run_head(std::int64_t head) {
    const std::int64_t queries = call_.queries(), block = scores_.block();
    for (std::int64_t at = 0; at < queries; at += block) {
      run_block(head, at, std::min(at + block, queries));
    }
  }

 private:
  void run_block(std::int64_t head, std::int64_t begin, std::int64_t end) {
    const std::int64_t keys = scores_.seen(end);
    const std::int64_t count = end - begin;
    const std::int64_t width = call_.width();
    const std::int64_t values = call_.values();
    const std::int64_t first = head * call_.queries() + begin;
    const auto q = scores_.scaled_queries(head, begin, end, queries_.data());
    const std::int64_t stride = gradients_.stride();
    const blas::Matrix<const T> weights = weigh(head, begin, end, q);
    T* d = gradients_.data();
    const blas::Matrix<const T> grad{grad_ + first * values, values};
    blas::gemm({count, keys, values}, grad, scores_.v(head).transposed(),
               blas::Matrix<T>{d, stride});
    for (std::int64_t i = 0; i < count; ++i) {
      finish_row(head, begin + i, weights.data + i * weights.stride, i, keys);
    }
    // The gradient of v needs all rows of P, before S replaces D for q and k.
    blas::Matrix<const T> used = weights;
    if (call_.dropout) used = {dropped_.data(), dropped_.stride()};
    used.transposed = true;
    add_to_keys({keys, values, count}, used, grad, begin,
                result_.v.data<T>() + head * call_.keys() * values);
    blas::gemm({count, width, keys}, blas::Matrix<const T>{d, stride},
               scores_.k(head).rows_from(0),
               blas::Matrix<T>{result_.q.data<T>() + first * width, width});
    add_to_keys({keys, width, count}, blas::Matrix<const T>{d, stride, true}, q,
                begin, result_.k.data<T>() + head * call_.keys() * width);
  }

  // Adds the contribution of the block that starts at query `begin` to all
  // keys.
  void add_to_keys(const blas::GemmSize& size, blas::Matrix<const T> a,
                   blas::Matrix<const T> b, std::int64_t begin, T* out) const {
    const blas::Matrix<T> c{out, size.n};
    if (begin > 0) return blas::gemm_add(size, a, b, c);
    blas::gemm(size, a, b, c);
    std::fill(out + size.m * size.n, out + call_.keys() * size.n, T(0));
  }

  // P, row-major: the kept weights, or recomputed.
  blas::Matrix<const T> weigh(std::int64_t head, std::int64_t begin,
                              std::int64_t end, blas::Matrix<const T> q) {
    const std::int64_t first = head * call_.queries() + begin;
    if (saved_.weights.defined()) {
      return {saved_.weights.data<T>() + first * call_.keys(), call_.keys()};
    }
    const blas::Matrix<T> weights{weights_.data(), weights_.stride()};
    scores_.compute(head, begin, end, q, weights);
    const T* kept = saved_.sums.data<T>() + 2 * first;
    for (std::int64_t i = 0; i < end - begin; ++i) {
      weigh_again(weights.data + i * weights.stride,
                  static_cast<std::size_t>(scores_.seen(end)), kept + 2 * i);
    }
    return {weights.data, weights.stride};
  }

  // Applies the dropout, and turns D into S in row i of the block.
  void finish_row(std::int64_t head, std::int64_t query, const T* weights,
                  std::int64_t i, std::int64_t keys) {
    const auto n = static_cast<std::size_t>(keys);
    T* d = gradients_.data() + i * gradients_.stride();
    if (call_.dropout) {
      T* dropped = dropped_.data() + i * dropped_.stride();
      std::copy_n(weights, n, dropped);
      scores_.drop(dropped, head, query, keys);
      scores_.drop(d, head, query, keys);
    }
    const auto sum = static_cast<T>(rows::dot(d, weights, n));
    rows::apply<functors::SoftmaxBackward>(d, weights, sum, d, n);
  }

  const Scores<T>& scores_;
  const AttentionCall& call_;
  const AttentionResult& saved_;
  const T* grad_;
  const AttentionGradients& result_;
  std::vector<T> queries_;
  ScoreBlock<T> weights_;
  ScoreBlock<T> gradients_;
  ScoreBlock<T> dropped_;
};

template <typename T>
void backward_of_type(AttentionCall& call, const AttentionResult& saved,
                      const Tensor& grad, const AttentionGradients& result) {
  const Scores<T> scores(call);
  run_tasks(
      {.count = scores.heads(), .cost = call.queries() * call.keys()},
      most_workers(scores),
      [&] { return Backward<T>(scores, call, saved, grad, result); },
      [](Backward<T>& worker, std::int64_t head) { worker.run_head(head); });
}

}  // namespace

std::int64_t AttentionCall::heads() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < q.shape().size(); ++d) count *= q.shape()[d];
  return count;
}

std::int64_t dropout_row(std::int64_t keys) { return (keys + 63) / 64 * 64; }

AttentionResult attention_forward(AttentionCall call, bool keeps) {
  Dims shape = call.q.shape();
  const DType dtype = call.q.dtype();
  const auto with_last = [&](std::int64_t size) {
    shape[shape.size() - 1] = size;
    return shape;
  };
  AttentionResult result;
  if (call.heads() * call.queries() == 0 || call.keys() == 0 ||
      call.values() == 0) {
    result.out = zeros(with_last(call.values()), {.dtype = dtype});
    result.sums = zeros(with_last(2), {.dtype = dtype});
    return result;
  }
  result.out = empty(with_last(call.values()), {.dtype = dtype});
  result.sums = empty(with_last(2), {.dtype = dtype});
  if (keeps && call.keys() <= kFewKeys) {
    result.weights = empty(with_last(call.keys()), {.dtype = dtype});
  }
  visit_floating(dtype, "attention", [&]<typename T>(TypeTag<T>) {
    forward_of_type<T>(call, result);
  });
  return result;
}

AttentionGradients attention_backward(AttentionCall call,
                                      const AttentionResult& saved,
                                      const Tensor& grad) {
  if (grad.num_elements() == 0 || call.keys() == 0) {
    return {zeros_like(call.q), zeros_like(call.k), zeros_like(call.v)};
  }
  const auto room = [](const Tensor& x) {
    return empty(x.shape(), {.dtype = x.dtype()});
  };
  const AttentionGradients result{room(call.q), room(call.k), room(call.v)};
  const Tensor rows = grad.contiguous();
  visit_floating(call.q.dtype(), "attention", [&]<typename T>(TypeTag<T>) {
    backward_of_type<T>(call, saved, rows, result);
  });
  return {mul(result.q, call.scale), result.k, result.v};
}

}  // namespace hvd::autograd
