#include "horovodpp/autograd/attention_heads.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "horovodpp/autograd/attention_scores.h"
#include "horovodpp/autograd/blas.h"
#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/rows.h"

namespace hvd::autograd {
namespace {

// Scores to weights; leaves the largest score and the sum in `kept`.
template <typename T>
void normalize(T* row, std::size_t n, T* kept) {
  const T largest = rows::max(row, n);
  const bool sees_none = largest == -std::numeric_limits<T>::infinity();
  kept[0] = largest;
  kept[1] = T(0);
  if (sees_none) {
    std::fill_n(row, n, T(0));
    return;
  }
  const double total = rows::exp_sum(row, largest, row, n);
  kept[1] = static_cast<T>(total);
  rows::apply<functors::MulScalar>(row, nullptr, static_cast<T>(1.0 / total),
                                   row, n);
}

// The same from what was kept.
template <typename T>
void weigh_again(T* row, std::size_t n, const T* kept) {
  if (kept[1] == T(0)) {
    std::fill_n(row, n, T(0));
  } else {
    rows::scaled_exp(row, kept[0], T(1) / kept[1], row, n);
  }
}

template <typename T>
void forward(AttentionCall& call, const AttentionResult& result) {
  Scores<T> scores(call);
  const std::int64_t queries = call.queries();
  const std::int64_t values = call.values();
  for (std::int64_t head = 0; head < scores.heads(); ++head) {
    T* sums = result.sums.data<T>() + head * queries * 2;
    T* out = result.out.data<T>() + head * queries * values;
    for (std::int64_t begin = 0; begin < queries; begin += scores.block()) {
      const std::int64_t end = std::min(begin + scores.block(), queries);
      const std::int64_t keys = scores.seen(end);
      const auto q = scores.scaled_queries(head, begin, end);
      T* weights = scores.compute(head, begin, end, q);
      for (std::int64_t i = begin; i < end; ++i) {
        T* row = weights + (i - begin) * keys;
        normalize(row, static_cast<std::size_t>(keys), sums + 2 * i);
        if (call.dropout) scores.drop(row, head, i, keys);
      }
      blas::gemm({end - begin, values, keys},
                 blas::Matrix<const T>{weights, keys},
                 scores.v(head).rows_from(0),
                 blas::Matrix<T>{out + begin * values, values});
    }
  }
}

// The gradients of one block of queries: with P the weights and D the gradient
// of the weights, S = P (D - sum D P) is that of the scores.
template <typename T>
class Backward {
 public:
  Backward(AttentionCall& call, const Tensor& sums, const Tensor& grad,
           const AttentionGradients& result)
      : scores_(call),
        call_(call),
        sums_(sums.data<T>()),
        grad_(grad.data<T>()),
        dq_(result.q.data<T>()),
        dk_(result.k.data<T>()),
        dv_(result.v.data<T>()),
        gradients_(static_cast<std::size_t>(scores_.block() * call.keys())) {
    if (call.dropout) dropped_.resize(gradients_.size());
  }

  void run() {
    for (std::int64_t head = 0; head < scores_.heads(); ++head) {
      for (std::int64_t at = 0; at < call_.queries(); at += scores_.block()) {
        run_block(head, at, std::min(at + scores_.block(), call_.queries()));
      }
    }
  }

 private:
  void run_block(std::int64_t head, std::int64_t begin, std::int64_t end) {
    const std::int64_t keys = scores_.seen(end);
    const std::int64_t count = end - begin;
    const std::int64_t width = call_.width();
    const std::int64_t values = call_.values();
    const std::int64_t first = head * call_.queries() + begin;
    const auto q = scores_.scaled_queries(head, begin, end);
    T* weights = scores_.compute(head, begin, end, q);
    T* d = gradients_.data();
    const blas::Matrix<const T> grad{grad_ + first * values, values};
    blas::gemm({count, keys, values}, grad, scores_.v(head).transposed(),
               blas::Matrix<T>{d, keys});
    const T* used = weights;
    if (call_.dropout) used = dropped_.data();
    for (std::int64_t i = 0; i < count; ++i) {
      finish_row(head, begin + i, keys, weights + i * keys, d + i * keys,
                 sums_ + 2 * (first + i),
                 call_.dropout ? dropped_.data() + i * keys : nullptr);
    }
    // All rows of P are needed for v before S can take D's place for q and k.
    blas::gemm_add({keys, values, count},
                   blas::Matrix<const T>{used, keys, true}, grad,
                   blas::Matrix<T>{dv_ + head * call_.keys() * values, values});
    const blas::Matrix<const T> s{d, keys};
    blas::gemm({count, width, keys}, s, scores_.k(head).rows_from(0),
               blas::Matrix<T>{dq_ + first * width, width});
    blas::gemm_add({keys, width, count}, blas::Matrix<const T>{d, keys, true},
                   q,
                   blas::Matrix<T>{dk_ + head * call_.keys() * width, width});
  }

  // Scores to weights, and D to S.
  void finish_row(std::int64_t head, std::int64_t i, std::int64_t keys,
                  T* weights, T* d, const T* kept, T* dropped) {
    const auto n = static_cast<std::size_t>(keys);
    weigh_again(weights, n, kept);
    if (call_.dropout) {
      std::copy_n(weights, n, dropped);
      scores_.drop(dropped, head, i, keys);
      scores_.drop(d, head, i, keys);
    }
    const auto sum = static_cast<T>(rows::dot(d, weights, n));
    rows::apply<functors::SoftmaxBackward>(d, weights, sum, d, n);
  }

  Scores<T> scores_;
  const AttentionCall& call_;
  const T* sums_;
  const T* grad_;
  T* dq_;
  T* dk_;
  T* dv_;
  std::vector<T> gradients_;
  std::vector<T> dropped_;
};

}  // namespace

std::int64_t AttentionCall::heads() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < q.sizes().size(); ++d) count *= q.sizes()[d];
  return count;
}

std::int64_t dropout_row(std::int64_t keys) { return (keys + 63) / 64 * 64; }

AttentionResult attention_forward(AttentionCall call) {
  Dims sizes = call.q.sizes();
  sizes[sizes.size() - 1] = call.values();
  AttentionResult result;
  result.out = zeros(sizes, {.dtype = call.q.dtype()});
  sizes[sizes.size() - 1] = 2;
  result.sums = zeros(sizes, {.dtype = call.q.dtype()});
  if (result.out.num_elements() == 0 || call.keys() == 0) return result;
  visit_floating(call.q.dtype(), "attention",
                 [&]<typename T>(TypeTag<T>) { forward<T>(call, result); });
  return result;
}

AttentionGradients attention_backward(AttentionCall call, const Tensor& sums,
                                      const Tensor& grad) {
  const AttentionGradients result{zeros_like(call.q), zeros_like(call.k),
                                  zeros_like(call.v)};
  if (grad.num_elements() == 0 || call.keys() == 0) return result;
  const Tensor rows = grad.contiguous();
  visit_floating(call.q.dtype(), "attention", [&]<typename T>(TypeTag<T>) {
    Backward<T>(call, sums, rows, result).run();
  });
  return {mul(result.q, call.scale), result.k, result.v};
}

}  // namespace hvd::autograd
