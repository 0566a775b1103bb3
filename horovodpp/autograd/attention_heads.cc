#include "horovodpp/autograd/attention_heads.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/products.h"
#include "horovodpp/autograd/rows.h"

namespace hvd::autograd {
namespace {

// A matrix of one head, and how BLAS reads it.
template <typename T>
struct Head {
  T* data;
  std::int64_t row_step;
  BlasLayout layout;

  blas::Matrix<const T> rows_from(std::int64_t row) const {
    return {data + row * row_step, layout.stride, layout.transposed};
  }
  blas::Matrix<const T> transposed() const {
    return {data, layout.stride, !layout.transposed};
  }
};

// An operand of all heads.
template <typename T>
class Operand {
 public:
  explicit Operand(Tensor& x) {
    const auto layout = [&] {
      return blas_layout(x.size(-2), x.size(-1),
                         x.strides()[x.sizes().size() - 2], x.strides().back());
    };
    if (!layout()) x = clone(x);
    first_ = {x.data<T>(), x.strides()[x.sizes().size() - 2], *layout()};
  }
  Head<const T> at(std::int64_t offset) const {
    return {first_.data + offset, first_.row_step, first_.layout};
  }

 private:
  Head<const T> first_{};
};

// Where each head's matrix begins.
std::vector<std::int64_t> offsets_of(const Tensor& x) {
  Dims sizes = x.sizes();
  Dims strides = x.strides();
  for (int i = 0; i < 2; ++i) {
    sizes.erase(sizes.size() - 1);
    strides.erase(strides.size() - 1);
  }
  std::vector<std::int64_t> offsets;
  const Walk<1> walk(sizes, {strides});
  walk.for_each_row([&](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      offsets.push_back(at[0] + i * walk.row_steps()[0]);
    }
  });
  return offsets;
}

// Queries at a time: their scores stay in the second cache.
std::int64_t block_of(std::int64_t keys) {
  constexpr std::int64_t kScores = 1 << 17;
  return std::clamp<std::int64_t>(kScores / std::max<std::int64_t>(keys, 1), 32,
                                  128);
}

template <typename T>
class Scores {
 public:
  explicit Scores(AttentionCall& call)
      : q_(call.q),
        k_(call.k),
        v_(call.v),
        q_offsets_(offsets_of(call.q)),
        k_offsets_(offsets_of(call.k)),
        v_offsets_(offsets_of(call.v)),
        call_(call),
        block_(block_of(call.keys())),
        queries_(static_cast<std::size_t>(block_ * call.width())),
        weights_(static_cast<std::size_t>(block_ * call.keys())) {
    if (call.mask.defined()) mask_offsets_ = offsets_of(call.mask);
  }

  std::int64_t heads() const {
    return static_cast<std::int64_t>(q_offsets_.size());
  }
  std::int64_t block() const { return block_; }
  Head<const T> k(std::int64_t head) const {
    return k_.at(offset(k_offsets_, head));
  }
  Head<const T> v(std::int64_t head) const {
    return v_.at(offset(v_offsets_, head));
  }

  // Keys that some query below `end` sees.
  std::int64_t seen(std::int64_t end) const {
    return call_.is_causal ? std::min(call_.keys(), end) : call_.keys();
  }

  // The scaled queries [begin, end) of a head, by rows.
  blas::Matrix<const T> scaled_queries(std::int64_t head, std::int64_t begin,
                                       std::int64_t end) {
    const Head<const T> q = q_.at(offset(q_offsets_, head));
    const std::int64_t width = call_.width();
    const std::int64_t step = call_.q.strides().back();
    T* to = queries_.data();
    for (std::int64_t i = begin; i < end; ++i) {
      const T* from = q.data + i * q.row_step;
      for (std::int64_t d = 0; d < width; ++d) {
        *to++ = static_cast<T>(call_.scale) * from[d * step];
      }
    }
    return {queries_.data(), std::max<std::int64_t>(width, 1)};
  }

  // The scores of `queries` and the first `keys` keys, masked, by rows.
  T* compute(std::int64_t head, std::int64_t begin, std::int64_t end,
             blas::Matrix<const T> queries) {
    const std::int64_t keys = seen(end);
    blas::gemm({end - begin, keys, call_.width()}, queries,
               k(head).transposed(), blas::Matrix<T>{weights_.data(), keys});
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = weights_.data() + (i - begin) * keys;
      if (call_.is_causal) {
        constexpr T kNever = -std::numeric_limits<T>::infinity();
        std::fill(row + std::min(i + 1, keys), row + keys, kNever);
      } else if (call_.mask.defined()) {
        add_mask(row, head, i, keys);
      }
    }
    return weights_.data();
  }

  // Drops what the dropout of row i of a head drops.
  void drop(T* row, std::int64_t head, std::int64_t i, std::int64_t n) const {
    const std::int64_t first =
        (head * call_.queries() + i) * dropout_row(call_.keys());
    call_.dropout->apply(row, row, first, n);
  }

 private:
  static std::int64_t offset(const std::vector<std::int64_t>& offsets,
                             std::int64_t head) {
    return offsets[static_cast<std::size_t>(head)];
  }

  void add_mask(T* row, std::int64_t head, std::int64_t i,
                std::int64_t keys) const {
    const Tensor& mask = call_.mask;
    const std::int64_t step = mask.strides().back();
    const std::int64_t start = offset(mask_offsets_, head) +
                               i * mask.strides()[mask.sizes().size() - 2];
    if (mask.dtype() == DType::kBool) {
      const bool* counts = mask.data<bool>() + start;
      for (std::int64_t j = 0; j < keys; ++j) {
        if (!counts[j * step]) row[j] = -std::numeric_limits<T>::infinity();
      }
    } else {
      const T* added = mask.data<T>() + start;
      for (std::int64_t j = 0; j < keys; ++j) row[j] += added[j * step];
    }
  }

  Operand<T> q_;
  Operand<T> k_;
  Operand<T> v_;
  std::vector<std::int64_t> q_offsets_;
  std::vector<std::int64_t> k_offsets_;
  std::vector<std::int64_t> v_offsets_;
  std::vector<std::int64_t> mask_offsets_;
  const AttentionCall& call_;
  std::int64_t block_;
  std::vector<T> queries_;
  std::vector<T> weights_;
};

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
