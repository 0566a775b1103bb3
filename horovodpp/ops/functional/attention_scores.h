// SPDX-License-Identifier: Apache-2.0
// The masked scores of attention for one head and one block of queries. Only
// for attention_heads.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/ops/functional/attention_call.h"
#include "horovodpp/ops/products.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

// A matrix of one head, with its BLAS layout.
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

// One operand for all heads.
template <typename T>
class Operand {
 public:
  explicit Operand(Tensor& x) {
    const auto layout = [&] {
      return blas_layout(x.size(-2), x.size(-1),
                         x.strides()[x.shape().size() - 2], x.strides().back());
    };
    if (!layout()) x = clone(x);
    first_ = {x.data<T>(), x.strides()[x.shape().size() - 2], *layout()};
  }
  Head<const T> at(std::int64_t offset) const {
    return {first_.data + offset, first_.row_step, first_.layout};
  }

 private:
  Head<const T> first_{};
};

// The offset of each head's matrix.
inline std::vector<std::int64_t> offsets_of(const Tensor& x) {
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

// Queries per block, chosen so that the scores fit the L2 cache.
inline std::int64_t block_of(std::int64_t keys) {
  constexpr std::int64_t kScores = 1 << 16;
  return std::clamp<std::int64_t>(kScores / std::max<std::int64_t>(keys, 1), 32,
                                  128);
}

// The scores of a block, row-major, with room for derived values. Rows are
// aligned to cache lines and padded by one line, since columns with a
// power-of-two stride map to few cache sets.
template <typename T>
class ScoreBlock {
 public:
  ScoreBlock() = default;
  ScoreBlock(std::int64_t rows, std::int64_t keys)
      : stride_((keys + 31) / 16 * 16),
        room_(empty({rows, stride_}, {.dtype = dtype_of<T>})) {}

  T* data() const { return room_.data<T>(); }
  std::int64_t stride() const { return stride_; }

 private:
  std::int64_t stride_ = 0;
  Tensor room_;
};

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
        block_(block_of(call.keys())) {
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

  // Whether products of these matrices cannot exceed the integers of the BLAS.
  bool fits_blas() const {
    const std::int64_t largest =
        std::max({call_.keys() + 32, call_.width(), call_.values(),
                  q_.at(0).layout.stride, k_.at(0).layout.stride,
                  v_.at(0).layout.stride});
    return largest <= std::numeric_limits<std::int32_t>::max();
  }

  // The number of keys that queries below `end` see.
  std::int64_t seen(std::int64_t end) const {
    return call_.is_causal ? std::min(call_.keys(), end) : call_.keys();
  }

  // Writes the scaled queries [begin, end) of a head to `room`, row-major.
  blas::Matrix<const T> scaled_queries(std::int64_t head, std::int64_t begin,
                                       std::int64_t end, T* room) const {
    const Head<const T> q = q_.at(offset(q_offsets_, head));
    const std::int64_t width = call_.width();
    const std::int64_t step = call_.q.strides().back();
    const T scale = static_cast<T>(call_.scale);
    T* to = room;
    for (std::int64_t i = begin; i < end; ++i, to += width) {
      const T* from = q.data + i * q.row_step;
      if (step == 1) {
        rows::apply<functors::MulScalar>(from, nullptr, scale, to,
                                         static_cast<std::size_t>(width));
        continue;
      }
      for (std::int64_t d = 0; d < width; ++d) to[d] = scale * from[d * step];
    }
    return {room, std::max<std::int64_t>(width, 1)};
  }

  // Writes the masked scores of `queries` and the first seen(end) keys to
  // `scores`, whose rows are `stride` elements apart.
  void compute(std::int64_t head, std::int64_t begin, std::int64_t end,
               blas::Matrix<const T> queries, blas::Matrix<T> scores) const {
    const std::int64_t keys = seen(end);
    blas::gemm({end - begin, keys, call_.width()}, queries,
               k(head).transposed(), scores);
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = scores.data + (i - begin) * scores.stride;
      if (call_.is_causal) {
        constexpr T kNever = -std::numeric_limits<T>::infinity();
        std::fill(row + std::min(i + 1, keys), row + keys, kNever);
      } else if (call_.mask.defined()) {
        add_mask(row, head, i, keys);
      }
    }
  }

  // Applies the dropout to row i of a head.
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
                               i * mask.strides()[mask.shape().size() - 2];
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
};

}  // namespace hvd::autograd
