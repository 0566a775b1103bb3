// SPDX-License-Identifier: Apache-2.0
// The masked scores of attention for one head and one block of queries. Only
// for attention_heads.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/ops/attention/attention_call.h"
#include "horovodpp/ops/products.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

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
  blas::Matrix<const T> transposed_from(std::int64_t row) const {
    return {data + row * row_step, layout.stride, !layout.transposed};
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
        q_offsets_(matrix_offsets(call.q)),
        k_offsets_(matrix_offsets(call.k)),
        v_offsets_(matrix_offsets(call.v)),
        call_(call),
        block_(block_of(call.visible.window > 0
                            ? std::min(call.keys(), call.visible.window)
                            : call.keys())) {
    if (call.mask.defined()) mask_offsets_ = matrix_offsets(call.mask);
  }

  std::int64_t heads() const {
    return static_cast<std::int64_t>(q_offsets_.size());
  }
  std::int64_t block() const { return block_; }
  Head<const T> k(std::int64_t head) const {
    return k_.at(offset(k_offsets_, head / call_.groups));
  }
  Head<const T> v(std::int64_t head) const {
    return v_.at(offset(v_offsets_, head / call_.groups));
  }

  // Whether products of these matrices cannot exceed the integers of the BLAS.
  bool fits_blas() const {
    const std::int64_t largest =
        std::max({call_.keys() + 32, call_.width(), call_.values(),
                  q_.at(0).layout.stride, k_.at(0).layout.stride,
                  v_.at(0).layout.stride});
    return largest <= std::numeric_limits<std::int32_t>::max();
  }

  // The keys that the queries [begin, end) read.
  KeyRange read(std::int64_t begin, std::int64_t end) const {
    return call_.visible.of_block(begin, end, call_.keys());
  }
  // The most keys that a block reads.
  std::int64_t most_keys() const {
    return call_.visible.most_of_block(block_, call_.keys());
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

  // Writes the masked scores of `queries` and the keys of read(begin, end) to
  // `scores`.
  void compute(std::int64_t head, std::int64_t begin, std::int64_t end,
               blas::Matrix<const T> queries, blas::Matrix<T> scores) const {
    const KeyRange keys = read(begin, end);
    blas::gemm({end - begin, keys.size(), call_.width()}, queries,
               k(head).transposed_from(keys.begin), scores);
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = scores.data + (i - begin) * scores.stride;
      hide(row, i, keys);
      if (call_.mask.defined()) add_mask(row, head, i, keys.size());
    }
  }

  // Applies the dropout to these keys of row i of a head.
  void drop(T* row, std::int64_t head, std::int64_t i,
            const KeyRange& keys) const {
    const std::int64_t first =
        (head * call_.queries() + i) * dropout_row(call_.keys()) + keys.begin;
    call_.dropout->apply(row, row, first, keys.size());
  }

 private:
  static std::int64_t offset(const std::vector<std::int64_t>& offsets,
                             std::int64_t head) {
    return offsets[static_cast<std::size_t>(head)];
  }

  // Row i, with the scores of `keys`, loses those that its query does not see.
  void hide(T* row, std::int64_t i, const KeyRange& keys) const {
    if (call_.visible.are_all()) return;
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    const KeyRange sees = call_.visible.of(i, call_.keys());
    const auto place = [&](std::int64_t key) {
      return row + std::clamp(key, keys.begin, keys.end) - keys.begin;
    };
    std::fill(row, place(sees.begin), kNever);
    std::fill(place(sees.end), row + keys.size(), kNever);
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
