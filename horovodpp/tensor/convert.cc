// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/convert.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/fill.h"
#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/loops/transpose.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/base/not_on_cpu.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/gpu/gpu_elements.h"
#include "horovodpp/tensor/gpu/transfer.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/memory.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, f16> ||
                       std::is_same_v<From, bf16>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    return scalar_to<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

bool is_half(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

template <typename T>
void copy_row(const T* x, T* out, std::size_t n) {
  std::memcpy(out, x, n * sizeof(T));
}
// out[i] = from[-i] for 4 elements of 4 bytes.
template <typename T>
void reverse_four(const T* from, T* out) {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  static_assert(sizeof(T) == 4);
  Four x;
  std::memcpy(&x, from - 3, sizeof x);
  x = __builtin_shufflevector(x, x, 3, 2, 1, 0);
  std::memcpy(out, &x, sizeof x);
}

// out[i] = from[-i]. The buffer, which cannot overlap `out`, lets the compiler
// use vectors.
template <typename To, typename From>
void reverse(const From* from, To* out, std::size_t n) {
  constexpr std::size_t kBlock = 16;
  std::size_t i = 0;
  if constexpr (std::is_same_v<To, From> && sizeof(To) == 4) {
    for (; i + kBlock <= n; i += kBlock) {
      for (std::size_t k = 0; k < kBlock; k += 4) {
        reverse_four(from - i - k, out + i + k);
      }
    }
  }
  for (; i + kBlock <= n; i += kBlock) {
    From block[kBlock];
    std::memcpy(block, from - i - (kBlock - 1), sizeof block);
    for (std::size_t j = 0; j < kBlock; ++j) {
      out[i + j] = converted<To>(block[kBlock - 1 - j]);
    }
  }
  for (; i < n; ++i) out[i] = converted<To>(*(from - i));
}
template <typename T>
void widen_row(const T* x, float* out, std::size_t n) {
  widen(x, out, n);
}
template <typename T>
void narrow_row(const float* x, T* out, std::size_t n) {
  narrow(x, out, n);
}

// The offsets of the matrix at `index`, which the walk's last two dimensions
// form.
Walk<2>::Offsets matrix_offsets(const Walk<2>& walk, std::int64_t index) {
  Walk<2>::Offsets at{};
  for (std::size_t d = walk.rank() - 2; d-- > 0; index /= walk.size(d)) {
    const std::int64_t i = index % walk.size(d);
    for (std::size_t k = 0; k < 2; ++k) at[k] += i * walk.steps(d)[k];
  }
  return at;
}

// Transposes the last two dimensions of a walk, where x runs across `out`.
// Works in tiles through a buffer, so that each cache line of x is read once.
template <typename To, typename From>
void copy_across(To* all, const From* from, const Walk<2>& walk) {
  constexpr std::int64_t kRows = 32;
  constexpr std::int64_t kColumns = 32;
  const std::size_t d = walk.rank() - 2;
  const std::int64_t out_step = walk.steps(d)[0];
  const std::int64_t x_step = walk.row_steps()[1];
  const auto copy_strip = [&](To* out, const From* x, std::int64_t r) {
    const std::int64_t rows = std::min(kRows, walk.size(d) - r);
    if constexpr (std::is_same_v<To, From> && sizeof(To) == 4) {
      transpose_words(
          {.x = reinterpret_cast<const std::uint32_t*>(x + r),
           .x_step = x_step,
           .out = reinterpret_cast<std::uint32_t*>(out + r * out_step),
           .out_step = out_step,
           .rows = rows,
           .columns = walk.row_size()});
      return;
    }
    From tile[kRows * kColumns];
    for (std::int64_t c = 0; c < walk.row_size(); c += kColumns) {
      const std::int64_t columns = std::min(kColumns, walk.row_size() - c);
      for (std::int64_t j = 0; j < columns; ++j) {
        std::copy_n(x + r + (c + j) * x_step, rows, tile + j * kRows);
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        To* to = out + (r + i) * out_step + c;
        for (std::int64_t j = 0; j < columns; ++j) {
          to[j] = converted<To>(tile[j * kRows + i]);
        }
      }
    }
  };
  const std::int64_t strips = (walk.size(d) + kRows - 1) / kRows;
  const std::int64_t matrices = walk.rows() / walk.size(d);
  parallel_for({.count = matrices * strips, .cost = kRows * walk.row_size()},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const auto at = matrix_offsets(walk, i / strips);
                   copy_strip(all + at[0], from + at[1], i % strips * kRows);
                 }
               });
}

// Whether the last two dimensions are transposed and large enough. A row that
// repeats an element of x is faster by itself.
bool lies_across(const Walk<2>& walk) {
  const auto [so, sx] = walk.row_steps();
  if (walk.rank() < 2 || so != 1 || sx == 0) return false;
  const std::size_t d = walk.rank() - 2;
  return walk.steps(d)[1] == 1 && walk.size(d) >= 8 && walk.row_size() >= 8;
}

// out = x: contiguous rows with `row`, others element by element.
template <typename To, typename From>
void copy_rows(const Tensor& out, const Tensor& x,
               void (*row)(const From*, To*, std::size_t)) {
  const auto walk =
      walk_as_stored<2>(out.shape(), {out.strides(), x.strides()});
  const auto [so, sx] = walk.row_steps();
  const auto n = static_cast<std::size_t>(walk.row_size());
  if (lies_across(walk)) {
    copy_across(out.data<To>(), x.data<From>(), walk);
    return;
  }
  if (walk.rows() == 1 && so == 1 && sx == 0) {
    return fill(out.data<To>(), walk.row_size(),
                converted<To>(*x.data<From>()));
  }
  // For fewer elements the call costs more than the copy.
  const bool adjacent = so == 1 && sx == 1 && n >= 8;
  for_each_row_in_parallel(walk, [&, so = so, sx = sx](const auto& at) {
    To* to = out.data<To>() + at[0];
    const From* from = x.data<From>() + at[1];
    if (adjacent) return row(from, to, n);
    if (so == 1 && sx == 0) {
      return fill_row(to, n, converted<To>(*from));
    }
    if (so == 1 && sx == -1) return reverse(from, to, n);
    for (std::size_t i = 0; i < n; ++i, to += so, from += sx) {
      *to = converted<To>(*from);
    }
  });
}

// x has the layout and dtype of `out`, without gaps.
bool is_alike(const Tensor& out, const Tensor& x) {
  return out.dtype() == x.dtype() && is_dense(x.shape(), x.strides()) &&
         same_layout(x.shape(), out.strides(), x.strides());
}

Place place_of(const Tensor& x) { return {x.address(), x.device()}; }

// x goes over without gaps, in the dtype of `out`.
void convert_between(const Tensor& out, const Tensor& x, bool non_blocking) {
  if (is_alike(out, x)) {
    return transfer(place_of(out), place_of(x), x.bytes(), non_blocking);
  }
  const Dims rows = contiguous_strides(x.shape());
  Tensor sent = x;
  if (x.dtype() != out.dtype() || !x.is_contiguous()) {
    sent = empty_strided(x.shape(), rows, out.dtype(), x.device());
    convert_into(sent, x);
  }
  if (out.is_contiguous()) {
    return transfer(place_of(out), place_of(sent), sent.bytes(), non_blocking);
  }
  const Tensor received =
      empty_strided(x.shape(), rows, out.dtype(), out.device());
  transfer(place_of(received), place_of(sent), sent.bytes());
  convert_into(out, received);
}

void convert_there(const Tensor& out, const Tensor& x) {
  if (is_alike(out, x)) {
    return transfer(place_of(out), place_of(x), x.bytes());
  }
  convert_on_gpu({.device = out.device(),
                  .shape = out.shape(),
                  .out = gpu_elements(out, out.shape()),
                  .x = gpu_elements(x, out.shape())});
}

[[noreturn]] void throw_elsewhere(const Tensor& out, const Tensor& x) {
  if (out.device().is_cpu()) throw NotOnCpuError(x.describe(), x.device());
  throw InvalidArgument(
      absl::StrCat("a ", x.describe(), " on ", x.device().to_string(),
                   " does not go with a ", out.describe(), " on ",
                   out.device().to_string(), "; move one of them with to()"));
}

}  // namespace

void convert_into(const Tensor& out, const Tensor& x) {
  const Device there = out.device();
  if (!(there == x.device())) throw_elsewhere(out, x);
  if (!there.is_cpu()) return convert_there(out, x);
  if (is_alike(out, x)) {
    auto* to = static_cast<std::byte*>(out.raw_data());
    const auto* from = static_cast<const std::byte*>(x.raw_data());
    if (shares_memory(out, x)) {
      if (x.bytes() != 0) std::memmove(to, from, x.bytes());
      return;
    }
    parallel_for(
        {.count = static_cast<std::int64_t>(x.bytes()), .multiple = 4096},
        [&](std::int64_t begin, std::int64_t end) {
          std::memcpy(to + begin, from + begin,
                      static_cast<std::size_t>(end - begin));
        });
    return;
  }
  if (out.dtype() == x.dtype()) {
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      copy_rows<T, T>(out, x, copy_row<T>);
    });
  } else if (x.dtype() == DType::kF32 && is_half(out.dtype())) {
    visit_any_floating(out.dtype(), "to", [&]<typename T>(TypeTag<T>) {
      if constexpr (sizeof(T) == 2) copy_rows<T, float>(out, x, narrow_row<T>);
    });
  } else if (out.dtype() == DType::kF32 && is_half(x.dtype())) {
    visit_any_floating(x.dtype(), "to", [&]<typename T>(TypeTag<T>) {
      if constexpr (sizeof(T) == 2) copy_rows<float, T>(out, x, widen_row<T>);
    });
  } else {
    visit(out.dtype(), [&]<typename To>(TypeTag<To>) {
      visit(x.dtype(), [&]<typename From>(TypeTag<From>) {
        map<To, From>(out, x, [](auto v) { return converted<To>(v); });
      });
    });
  }
}

Tensor in_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor out = empty_strided(x.shape(), strides_like(x.shape(), x.strides()),
                             dtype, x.device());
  convert_into(out, x);
  return out;
}

Tensor on_device(const Tensor& x, Device device, bool non_blocking) {
  if (x.device() == device) return x;
  const Dims strides = strides_like(x.shape(), x.strides());
  Tensor out = empty_strided(x.shape(), strides, x.dtype(), device);
  convert_between(out, x, non_blocking);
  return out;
}

GpuElements gpu_elements(const Tensor& x, const Dims& shape) {
  return {x.address(), x.dtype(), broadcast_strides(x, shape)};
}

Tensor as_int64(const Tensor& indices, const char* operation) {
  check_defined(indices, operation);
  if (category_of(indices.dtype()) == DTypeCategory::kInteger) {
    return in_dtype(indices, DType::kI64);
  }
  throw InvalidArgument(absl::StrCat(
      operation, ": ", indices.describe(),
      " are no indices; wanted are integers: convert them with to()"));
}

Tensor widened(const Tensor& x) {
  return is_half(x.dtype()) ? in_dtype(x, DType::kF32) : x;
}

}  // namespace hvd::autograd
