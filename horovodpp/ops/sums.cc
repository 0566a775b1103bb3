// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// The sum of adjacent elements, in chunks that do not depend on the number of
// threads.
template <typename T>
double sum_adjacent(const T* x, std::int64_t n) {
  constexpr std::int64_t kChunk = 1 << 15;
  if (n <= kChunk) return rows::sum(x, static_cast<std::size_t>(n));
  const std::int64_t count = (n + kChunk - 1) / kChunk;
  std::vector<double> sums(static_cast<std::size_t>(count));
  parallel_for({.count = count, .cost = kChunk}, [&](std::int64_t begin,
                                                     std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i * kChunk;
      sums[static_cast<std::size_t>(i)] =
          rows::sum(x + at, static_cast<std::size_t>(std::min(kChunk, n - at)));
    }
  });
  return rows::sum(sums.data(), sums.size());
}

template <typename Sum, typename T>
Sum sum_row(const T* x, std::int64_t n, std::int64_t step) {
  if constexpr (std::is_floating_point_v<T>) {
    if (step == 1) {
      return static_cast<Sum>(sum_adjacent(x, n));
    }
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      total += static_cast<double>(x[i * step]);
    }
    return static_cast<Sum>(total);
  } else {
    T total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += x[i * step];
    return total;
  }
}

// Whether a walk ends in matrices with adjacent rows whose columns are summed.
bool ends_in_columns(const Walk<2>& walk) {
  const auto [so, sx] = walk.row_steps();
  return walk.rank() >= 2 && so == 1 && sx == 1 &&
         walk.steps(walk.rank() - 2)[0] == 0;
}

// out += the column sums of all such matrices.
template <typename Sum, typename T>
void sum_columns(const Walk<2>& walk, Sum* out, const T* in) {
  const std::size_t d = walk.rank() - 2;
  Dims shape, out_steps, in_steps;
  for (std::size_t k = 0; k < d; ++k) {
    shape.push_back(walk.size(k));
    out_steps.push_back(walk.steps(k)[0]);
    in_steps.push_back(walk.steps(k)[1]);
  }
  const auto n = static_cast<std::size_t>(walk.row_size());
  const auto count = static_cast<std::size_t>(walk.size(d));
  std::vector<T> part(std::is_same_v<T, Sum> ? 0 : n);
  const auto add_some = [&](Sum* to, const T* from, std::size_t begin,
                            std::size_t end) {
    if constexpr (std::is_same_v<T, Sum>) {
      rows::add_columns(from + begin, count, walk.steps(d)[1], to + begin,
                        end - begin);
    } else {
      std::fill(part.begin() + static_cast<std::ptrdiff_t>(begin),
                part.begin() + static_cast<std::ptrdiff_t>(end), T(0));
      rows::add_columns(from + begin, count, walk.steps(d)[1],
                        part.data() + begin, end - begin);
      for (std::size_t i = begin; i < end; ++i) {
        to[i] += static_cast<Sum>(part[i]);
      }
    }
  };
  // A strip of add_columns() has 64 columns at most, so that no bound of a part
  // divides one.
  const auto add = [&](Sum* to, const T* from) {
    parallel_for(
        {.count = walk.row_size(), .cost = walk.size(d), .multiple = 64},
        [&](std::int64_t begin, std::int64_t end) {
          add_some(to, from, static_cast<std::size_t>(begin),
                   static_cast<std::size_t>(end));
        });
  };
  const Walk<2> outer(shape, {out_steps, in_steps});
  outer.for_each_row([&](const auto& at) {
    const auto [so, sx] = outer.row_steps();
    for (std::int64_t i = 0; i < outer.row_size(); ++i) {
      add(out + at[0] + i * so, in + at[1] + i * sx);
    }
  });
}

// out += the row sums of a walk; the strides of `out` are 0 in reduced
// dimensions.
template <typename Sum, typename T>
void sum_rows(const Walk<2>& walk, Sum* out, const T* in) {
  if constexpr (std::is_floating_point_v<T>) {
    if (ends_in_columns(walk)) return sum_columns(walk, out, in);
  }
  const auto [so, sx] = walk.row_steps();
  const std::int64_t n = walk.row_size();
  const auto add_row = [&, so = so, sx = sx](const auto& at) {
    Sum* o = out + at[0];
    const T* row = in + at[1];
    if (so == 0) {
      *o += sum_row<Sum>(row, n, sx);
      return;
    }
    if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, Sum>) {
      if (so == 1 && sx == 1) {
        rows::apply<functors::Add>(o, row, T(0), o,
                                   static_cast<std::size_t>(n));
        return;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      o[i * so] += static_cast<Sum>(row[i * sx]);
    }
  };
  bool apart = true;  // Whether rows add to different elements.
  for (std::size_t d = 0; d + 1 < walk.rank(); ++d) {
    apart = apart && walk.steps(d)[0] != 0;
  }
  if (apart && walk.rows() > 1) {
    for_each_row_in_parallel(walk, add_row);
  } else {
    walk.for_each_row(add_row);
  }
}

template <typename T>
void sum_into(const Tensor& out, const Dims& out_strides, const Tensor& x,
              std::int64_t count) {
  // Float is accurate enough for this many additions.
  constexpr std::int64_t kFew = 64;
  if (x.num_elements() == 0) return;
  const T* in = x.data<T>();
  const auto walk = walk_as_stored<2>(x.shape(), {out_strides, x.strides()});
  if constexpr (std::is_same_v<T, float>) {
    const std::int64_t parts =
        ends_in_columns(walk) ? count / walk.size(walk.rank() - 2) : count;
    if (parts > kFew) {
      std::vector<double> sums(static_cast<std::size_t>(out.num_elements()));
      sum_rows(walk, sums.data(), in);
      std::transform(sums.begin(), sums.end(), out.data<float>(),
                     [](double sum) { return static_cast<float>(sum); });
      return;
    }
  }
  sum_rows(walk, out.data<T>(), in);
}

// x and the result's strides with dimensions in memory order. The order does
// not change a sum, and the walk has fewer rows.
struct Ordered {
  Tensor x;
  Dims out_strides;
};
Ordered in_memory_order(const Tensor& x, const Dims& out_strides) {
  std::array<std::size_t, Dims::kMax> order{};
  const std::size_t rank = x.shape().size();
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.begin() + rank,
                   [&](std::size_t a, std::size_t b) {
                     return x.strides()[a] > x.strides()[b];
                   });
  Dims shape, strides, out;
  for (std::size_t d = 0; d < rank; ++d) {
    shape.push_back(x.shape()[order[d]]);
    strides.push_back(x.strides()[order[d]]);
    out.push_back(out_strides[order[d]]);
  }
  return {x.alias(shape, strides, x.storage_offset()), out};
}

}  // namespace

void add_sums(const Tensor& out, const Dims& out_strides, const Tensor& x,
              std::int64_t count) {
  const Ordered ordered = in_memory_order(x, out_strides);
  visit_arithmetic(x.dtype(), "sum", [&]<typename T>(TypeTag<T>) {
    if constexpr (sizeof(T) >= sizeof(float)) {
      sum_into<T>(out, ordered.out_strides, ordered.x, count);
    }
  });
}

}  // namespace hvd::autograd
