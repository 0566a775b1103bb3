// SPDX-License-Identifier: Apache-2.0
// Functions of elements over tensors: out = f(a) and out = f(a, b), for any
// strides. The walk over the rows is compiled once; a function and a dtype add a
// loop over one row, which the compiler vectorizes in the common cases.
#pragma once

#include <cstdint>
#include <type_traits>

#include "horovodpp/core/half.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

// The type that loops compute in: float for the 16-bit floating-point types.
template <typename T>
T loaded(T value) {
  return value;
}
inline float loaded(f16 value) { return static_cast<float>(value); }
inline float loaded(bf16 value) { return static_cast<float>(value); }
template <typename T>
using Loaded = decltype(loaded(T()));

template <typename T, typename V>
T stored(V value) {
  if constexpr (std::is_same_v<T, V>) {
    return value;
  } else if constexpr (sizeof(Loaded<T>) != sizeof(T)) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename Out, typename In, typename F>
void map_row(Out* o, const In* x, const StridedRow<2>& row, F f) {
  const auto [so, sx] = row.steps;
  o += row.at[0];
  x += row.at[1];
  if (so == 1 && sx == 1) {
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i] = stored<Out>(f(loaded(x[i])));
    }
  } else {
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i * so] = stored<Out>(f(loaded(x[i * sx])));
    }
  }
}

template <typename Out, typename T, typename F>
void map_row(Out* o, const T* x, const T* y, const StridedRow<3>& row, F f) {
  const auto [so, sx, sy] = row.steps;
  o += row.at[0];
  x += row.at[1];
  y += row.at[2];
  if (so == 1 && sx == 1 && sy == 1) {
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i] = stored<Out>(f(loaded(x[i]), loaded(y[i])));
    }
  } else if (so == 1 && sx == 1 && sy == 0) {
    const auto value = loaded(*y);
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i] = stored<Out>(f(loaded(x[i]), value));
    }
  } else if (so == 1 && sx == 0 && sy == 1) {
    const auto value = loaded(*x);
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i] = stored<Out>(f(value, loaded(y[i])));
    }
  } else {
    for (std::int64_t i = 0; i < row.size; ++i) {
      o[i * so] = stored<Out>(f(loaded(x[i * sx]), loaded(y[i * sy])));
    }
  }
}

// out = f(a), element by element; `out` has the shape of `a`. Threads call f
// concurrently.
template <typename Out, typename In, typename F>
void map(const Tensor& out, const Tensor& a, F f) {
  Out* o = out.data<Out>();
  const In* x = a.data<In>();
  for_each_row(out, a,
               [&](const StridedRow<2>& row) { map_row(o, x, row, f); });
}

// out = f(a, b), element by element; `a` and `b` broadcast to `out`, which may
// be one of them. Threads call f concurrently.
template <typename T, typename Out = T, typename F>
void map2(const Tensor& out, const Tensor& a, const Tensor& b, F f) {
  Out* o = out.data<Out>();
  const T* x = a.data<T>();
  const T* y = b.data<T>();
  for_each_row(out, a, b,
               [&](const StridedRow<3>& row) { map_row(o, x, y, row, f); });
}

}  // namespace hvd::autograd
