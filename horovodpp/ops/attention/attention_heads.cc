// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/attention/attention_heads.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/intra_op.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/kernel/workers.h"
#include "horovodpp/ops/attention/attention_scores.h"
#include "horovodpp/ops/elementwise_ops.h"
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

// run_tasks() for workers that compute products. Several workers need products
// on one thread each, and a loop on several threads must not throw, as a
// product does that is too large.
template <typename T, typename Make, typename Run>
void run_product_tasks(const Scores<T>& scores, const LoopSize& tasks,
                       Make make, Run run) {
  const bool several = std::is_same_v<T, float> && get_num_threads() > 1 &&
                       blas::float_products_share_openmp() &&
                       scores.fits_blas();
  const BlasOnOneThread one_each(several);
  run_tasks(tasks, several ? std::numeric_limits<std::int64_t>::max() : 1, make,
            run);
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
        block_(scores.block(), scores.most_keys()) {}

  // Attention of queries [begin, end), of at most one block.
  void run_block(std::int64_t head, std::int64_t begin, std::int64_t end) {
    const KeyRange read = scores_.read(begin, end);
    const std::int64_t keys = read.size();
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
      if (call_.dropout) scores_.drop(row, head, begin + i, read);
    }
    blas::gemm({end - begin, values, keys},
               blas::Matrix<const T>{powers.data, powers.stride},
               scores_.v(head).rows_from(read.begin),
               blas::Matrix<T>{out, values});
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
  run_product_tasks(
      scores, {.count = scores.heads() * blocks, .cost = block * call.keys()},
      [&] { return Forward<T>(scores, call, result); },
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
        weights_(scores.block(), scores.most_keys()),
        gradients_(scores.block(), scores.most_keys()) {
    if (call.dropout) dropped_ = {scores.block(), scores.most_keys()};
  }

  // All heads of a head of keys, and their blocks, in order: all add to the
  // gradients of its keys.
  void run_head_of_keys(std::int64_t head_of_keys) {
    const std::int64_t queries = call_.queries(), block = scores_.block();
    const std::int64_t first = head_of_keys * call_.groups;
    for (std::int64_t head = first; head < first + call_.groups; ++head) {
      for (std::int64_t at = 0; at < queries; at += block) {
        run_block(head, at, std::min(at + block, queries));
      }
    }
  }

 private:
  void run_block(std::int64_t head, std::int64_t begin, std::int64_t end) {
    const KeyRange read = scores_.read(begin, end);
    const std::int64_t keys = read.size();
    const std::int64_t count = end - begin;
    const std::int64_t width = call_.width();
    const std::int64_t values = call_.values();
    const std::int64_t first = head * call_.queries() + begin;
    const auto q = scores_.scaled_queries(head, begin, end, queries_.data());
    const std::int64_t stride = gradients_.stride();
    const blas::Matrix<const T> weights = weigh(head, begin, end, q);
    T* d = gradients_.data();
    const blas::Matrix<const T> grad{grad_ + first * values, values};
    blas::gemm({count, keys, values}, grad,
               scores_.v(head).transposed_from(read.begin),
               blas::Matrix<T>{d, stride});
    for (std::int64_t i = 0; i < count; ++i) {
      finish_row(head, begin + i, weights.data + i * weights.stride, i, read);
    }
    // The gradient of v needs all rows of P, before S replaces D for q and k.
    blas::Matrix<const T> used = weights;
    if (call_.dropout) used = {dropped_.data(), dropped_.stride()};
    used.transposed = true;
    const bool is_first = begin == 0 && head % call_.groups == 0;
    const std::int64_t first_key = head / call_.groups * call_.keys();
    add_to_keys({keys, values, count}, used, grad, read, is_first,
                result_.v.data<T>() + first_key * values);
    blas::gemm({count, width, keys}, blas::Matrix<const T>{d, stride},
               scores_.k(head).rows_from(read.begin),
               blas::Matrix<T>{result_.q.data<T>() + first * width, width});
    add_to_keys({keys, width, count}, blas::Matrix<const T>{d, stride, true}, q,
                read, is_first, result_.k.data<T>() + first_key * width);
  }

  // Adds the contribution of a block to the keys that it reads. The first block
  // of a head of k and v writes all keys of `out`.
  void add_to_keys(const blas::GemmSize& size, blas::Matrix<const T> a,
                   blas::Matrix<const T> b, const KeyRange& read, bool is_first,
                   T* out) const {
    T* const begin = out + read.begin * size.n;
    const blas::Matrix<T> c{begin, size.n};
    if (!is_first) return blas::gemm_add(size, a, b, c);
    std::fill(out, begin, T(0));
    blas::gemm(size, a, b, c);
    std::fill(out + read.end * size.n, out + call_.keys() * size.n, T(0));
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
                  static_cast<std::size_t>(scores_.read(begin, end).size()),
                  kept + 2 * i);
    }
    return {weights.data, weights.stride};
  }

  // Applies the dropout, and turns D into S in row i of the block.
  void finish_row(std::int64_t head, std::int64_t query, const T* weights,
                  std::int64_t i, const KeyRange& keys) {
    const auto n = static_cast<std::size_t>(keys.size());
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
  run_product_tasks(
      scores,
      {.count = scores.heads() / call.groups,
       .cost = call.groups * call.queries() * call.keys()},
      [&] { return Backward<T>(scores, call, saved, grad, result); },
      [](Backward<T>& worker, std::int64_t head) {
        worker.run_head_of_keys(head);
      });
}

}  // namespace

std::int64_t AttentionCall::heads() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < q.shape().size(); ++d) count *= q.shape()[d];
  return count;
}

std::vector<std::int64_t> matrix_offsets(const Tensor& x) {
  Dims shape = x.shape();
  Dims strides = x.strides();
  for (int i = 0; i < 2; ++i) {
    shape.erase(shape.size() - 1);
    strides.erase(strides.size() - 1);
  }
  std::vector<std::int64_t> offsets;
  const Walk<1> walk(shape, {strides});
  walk.for_each_row([&](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      offsets.push_back(at[0] + i * walk.row_steps()[0]);
    }
  });
  return offsets;
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
