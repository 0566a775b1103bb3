// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/elementwise.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"

namespace hvd::autograd {
namespace {

// Large enough to amortize a call, small enough for the L1 cache.
constexpr std::int64_t kBlock = 512;
using Block = std::array<float, kBlock>;

// One tensor's part of a row: elements of type T, `step` apart.
template <typename T>
struct Row {
  T* data;
  std::int64_t step;

  // Whether a loop can run in place on it.
  bool direct() const { return std::is_same_v<T, float> && step == 1; }

  // Loads n elements from `at` on into `block`.
  void load(std::int64_t at, std::int64_t n, Block& block) const {
    const T* from = data + at * step;
    const auto count = static_cast<std::size_t>(n);
    if (step == 1) {
      widen(from, block.data(), count);
    } else if (step == 0) {
      std::fill_n(block.data(), n, static_cast<float>(*from));
    } else {
      for (std::size_t i = 0; i < count; ++i, from += step) {
        block[i] = static_cast<float>(*from);
      }
    }
  }

  void store(std::int64_t at, std::int64_t n, const Block& block) const {
    T* to = data + at * step;
    if (step == 1) {
      narrow(block.data(), to, static_cast<std::size_t>(n));
    } else {
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        *to = T(block[i]);
        to += step;
      }
    }
  }
};

template <typename T>
void run_row(FloatLoop loop, const Row<T>& out, const Row<T>& x,
             const Row<T>& y, float c, std::int64_t n, bool reads_y) {
  if constexpr (std::is_same_v<T, float>) {
    if (out.direct() && x.direct() && (!reads_y || y.direct())) {
      loop(x.data, y.data, c, out.data, static_cast<std::size_t>(n));
      return;
    }
  }
  Block xs, ys, results;
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    const bool repeats = at > 0;
    if (x.step != 0 || !repeats) x.load(at, count, xs);
    if (reads_y && (y.step != 0 || !repeats)) y.load(at, count, ys);
    loop(xs.data(), ys.data(), c, results.data(),
         static_cast<std::size_t>(count));
    out.store(at, count, results);
  }
}

template <typename T>
void run_rows(FloatLoop loop, const Operands& operands) {
  const Tensor& out = operands.out;
  const Tensor& x = operands.x;
  const bool reads_y = operands.y != nullptr;
  const Tensor& second = reads_y ? *operands.y : x;
  const auto constant = static_cast<float>(operands.c);
  const bool contiguous = out.is_contiguous() && x.is_contiguous() &&
                          second.is_contiguous() && x.shape() == out.shape() &&
                          second.shape() == out.shape();
  if (contiguous) {
    // Whole blocks: a part ends as a row does only at the tensor's end.
    parallel_for({.count = out.num_elements(), .multiple = kBlock},
                 [&](std::int64_t begin, std::int64_t end) {
                   run_row<T>(loop, {out.data<T>() + begin, 1},
                              {x.data<T>() + begin, 1},
                              {second.data<T>() + begin, 1}, constant,
                              end - begin, reads_y);
                 });
    return;
  }
  const auto walk = walk_as_stored<3>(
      out.shape(), {out.strides(), broadcast_strides(x, out.shape()),
                    broadcast_strides(second, out.shape())});
  const auto [so, sx, sy] = walk.row_steps();
  for_each_row_in_parallel(
      walk, [&, so = so, sx = sx, sy = sy](const auto& at) {
        run_row<T>(loop, {out.data<T>() + at[0], so}, {x.data<T>() + at[1], sx},
                   {second.data<T>() + at[2], sy}, constant, walk.row_size(),
                   reads_y);
      });
}

}  // namespace

void check_no_bool(DType a, DType b, const char* operation) {
  if (a != DType::kBool && b != DType::kBool) return;
  throw InvalidArgument(
      absl::StrCat(operation,
                   ": bools have no difference; use logical_xor(), or convert "
                   "them with to()"));
}

void throw_fraction(const Tensor& x, double constant, const char* operation) {
  throw InvalidArgument(absl::StrCat(
      operation, ": ", x.describe(), " and ", constant,
      ", which is no integer; convert the tensor with to() before"));
}

void run_loop(FloatLoop loop, const Operands& operands) {
  visit_any_floating(operands.out.dtype(), "loop", [&]<typename T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, double>) run_rows<T>(loop, operands);
  });
}

}  // namespace hvd::autograd
