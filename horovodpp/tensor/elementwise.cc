// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/elementwise.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/fill.h"
#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/gpu/gpu_elements.h"

namespace hvd::autograd {
namespace {

// Large enough to amortize a call, small enough for the L1 cache.
constexpr std::int64_t kBlock = 256;
using Block = std::array<float, kBlock>;

// One tensor's part of a row: elements of type T, `step` apart.
template <typename T>
struct Row {
  T* data;
  std::int64_t step;

  // Whether a loop can run in place on it.
  bool direct() const { return std::is_same_v<T, float> && step == 1; }

  // n elements from `at` on: in place, or in `block`, which is filled.
  const float* load(std::int64_t at, std::int64_t n, Block& block) const {
    if (const float* place = in_place(at)) return place;
    const T* from = data + at * step;
    const auto count = static_cast<std::size_t>(n);
    if (step == 1) {
      widen(from, block.data(), count);
    } else if (step == 0) {
      // Longer blocks come first.
      if (at == 0) fill_row(block.data(), count, static_cast<float>(*from));
    } else {
      for (std::size_t i = 0; i < count; ++i, from += step) {
        block[i] = static_cast<float>(*from);
      }
    }
    return block.data();
  }

  // Where to write the elements from `at` on, before store().
  float* target(std::int64_t at, Block& block) const {
    float* place = in_place(at);
    return place != nullptr ? place : block.data();
  }

  void store(std::int64_t at, std::int64_t n, const Block& block) const {
    if (direct()) return;
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

 private:
  float* in_place(std::int64_t at) const {
    if constexpr (std::is_same_v<T, float>) {
      if (step == 1) return data + at;
    }
    return nullptr;
  }
};

template <typename T>
Row<T> row_of(const Tensor& tensor, std::int64_t offset, std::int64_t step) {
  return {tensor.data<T>() + offset, step};
}

// The rows of a loop's inputs, and that of its output.
template <typename T, std::size_t N>
struct Rows {
  Row<T> out;
  std::array<Row<T>, N> in;

  bool direct() const {
    return out.direct() && std::all_of(in.begin(), in.end(), [](const auto& r) {
             return r.direct();
           });
  }
};

template <typename T, std::size_t N>
void run_row(RowLoop loop, const Rows<T, N>& rows, std::int64_t n) {
  std::array<const float*, N> from;
  if constexpr (std::is_same_v<T, float>) {
    if (rows.direct()) {
      for (std::size_t k = 0; k < N; ++k) from[k] = rows.in[k].data;
      loop(from.data(), rows.out.data, static_cast<std::size_t>(n));
      return;
    }
  }
  std::array<Block, N> blocks;
  Block results;
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    for (std::size_t k = 0; k < N; ++k) {
      from[k] = rows.in[k].load(at, count, blocks[k]);
    }
    loop(from.data(), rows.out.target(at, results),
         static_cast<std::size_t>(count));
    rows.out.store(at, count, results);
  }
}

template <std::size_t N>
using Inputs = std::array<const Tensor*, N>;

template <typename T, std::size_t N>
void run_contiguous(RowLoop loop, const Tensor& out, const Inputs<N>& in) {
  // Whole blocks: a part ends as a row does only at the tensor's end.
  parallel_for({.count = out.num_elements(), .multiple = kBlock},
               [&](std::int64_t begin, std::int64_t end) {
                 Rows<T, N> rows;
                 rows.out = row_of<T>(out, begin, 1);
                 for (std::size_t k = 0; k < N; ++k) {
                   rows.in[k] = row_of<T>(*in[k], begin, 1);
                 }
                 run_row<T, N>(loop, rows, end - begin);
               });
}

template <typename T, std::size_t N>
void run_rows(RowLoop loop, const Tensor& out, const Inputs<N>& in) {
  const auto stored_alike = [&](const Tensor* x) {
    return x->is_contiguous() && x->shape() == out.shape();
  };
  if (out.is_contiguous() && std::all_of(in.begin(), in.end(), stored_alike)) {
    run_contiguous<T, N>(loop, out, in);
    return;
  }
  std::array<Dims, N + 1> strides = {out.strides()};
  for (std::size_t k = 0; k < N; ++k) {
    strides[k + 1] = broadcast_strides(*in[k], out.shape());
  }
  const auto walk = walk_as_stored<N + 1>(out.shape(), strides);
  const auto& steps = walk.row_steps();
  for_each_row_in_parallel(walk, [&](const auto& at) {
    Rows<T, N> rows;
    rows.out = row_of<T>(out, at[0], steps[0]);
    for (std::size_t k = 0; k < N; ++k) {
      rows.in[k] = row_of<T>(*in[k], at[k + 1], steps[k + 1]);
    }
    run_row<T, N>(loop, rows, walk.row_size());
  });
}

template <std::size_t N>
void run_inputs(RowLoop loop, const Tensor& out, const Inputs<N>& in) {
  visit_any_floating(out.dtype(), "loop", [&]<typename T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, double>) run_rows<T, N>(loop, out, in);
  });
}

// Whether one call of a loop does it all: small tensors of float32, stored
// alike. Their operations should cost little more than the call.
bool is_one_row(const Tensor& out, std::initializer_list<const Tensor*> in) {
  if (out.dtype() != DType::kF32 || !out.is_contiguous() ||
      out.num_elements() >= 2 * kElementsPerThread) {
    return false;
  }
  for (const Tensor* x : in) {
    if (!x->is_contiguous() || x->shape() != out.shape()) return false;
  }
  return true;
}

// A matrix and a column: runs `loop` on each row and its number. Returns false
// for other shapes, layouts and dtypes.
bool run_number(FloatLoop loop, const Tensor& out, const Tensor& matrix,
                const Tensor& column) {
  const Dims& shape = out.shape();
  if (shape.size() < 2 || column.shape().size() != shape.size() ||
      column.shape()[shape.size() - 1] != 1 || out.dtype() != DType::kF32 ||
      matrix.shape() != shape || !matrix.is_contiguous() ||
      !out.is_contiguous()) {
    return false;
  }
  const auto walk = walk_as_stored<3>(
      shape,
      {out.strides(), matrix.strides(), broadcast_strides(column, shape)});
  if (walk.row_steps() != Walk<3>::Offsets{1, 1, 0}) return false;
  const float* x = matrix.data<float>();
  const float* c = column.data<float>();
  float* y = out.data<float>();
  const auto n = static_cast<std::size_t>(walk.row_size());
  for_each_row_in_parallel(walk, [&](const auto& at) {
    loop(x + at[1], nullptr, c[at[2]], y + at[0], n);
  });
  return true;
}

}  // namespace

void check_no_bool(DType a, DType b, const char* operation) {
  if (a != DType::kBool && b != DType::kBool) return;
  throw InvalidArgument(
      absl::StrCat(operation,
                   ": bools have no difference; use logical_xor(), or convert "
                   "them with to()"));
}

Tensor brought_to(const Tensor& out, const Tensor& x, const char* operation) {
  const Device device = out.device();
  if (x.device() == device) return x;
  if (x.dim() == 0 && x.device().is_cpu()) return on_device(x, device);
  throw InvalidArgument(absl::StrCat(
      operation, ": ", x.describe(), " on ", x.device().to_string(), " and ",
      out.describe(), " on ", device.to_string(),
      " are on different devices; move one of them with to()"));
}

void run_there(LoopId function, TakenTypes taken, const Operands& operands,
               const char* operation) {
  const Tensor& out = operands.out;
  const DType dtype = out.dtype();
  if (dtype == DType::kBool && !taken.bools) {
    throw_bad_dtype(
        dtype, operation,
        taken.integers ? "integers and floating point" : "floating point");
  }
  if (!taken.integers && !is_floating_point(dtype)) {
    throw_bad_dtype(dtype, operation, "floating point");
  }
  GpuConstant constant{.number = operands.c};
  visit(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      constant.whole = constant_of<T>(operands, operation);
    }
  });
  const Tensor x = brought_to(out, operands.x, operation);
  const Tensor y = operands.y == nullptr
                       ? Tensor()
                       : brought_to(out, *operands.y, operation);
  GpuLoop loop{.device = out.device(),
               .shape = out.shape(),
               .out = gpu_elements(out, out.shape()),
               .x = gpu_elements(x, out.shape())};
  GpuElements second;
  if (y.defined()) {
    second = gpu_elements(y, out.shape());
    loop.y = &second;
  }
  apply_on_gpu(loop, function, constant);
}

void throw_fraction(const Tensor& x, double constant, const char* operation) {
  throw InvalidArgument(absl::StrCat(
      operation, ": ", x.describe(), " and ", constant,
      ", which is no integer; convert the tensor with to() before"));
}

void run_row_loop(RowLoop loop, const Tensor& out,
                  std::initializer_list<const Tensor*> in) {
  const Tensor* const* x = in.begin();
  if (is_one_row(out, in)) {
    std::array<const float*, 3> rows;
    for (std::size_t k = 0; k < in.size(); ++k) rows[k] = x[k]->data<float>();
    loop(rows.data(), out.data<float>(),
         static_cast<std::size_t>(out.num_elements()));
    return;
  }
  if (in.size() == 1) {
    run_inputs<1>(loop, out, {x[0]});
  } else if (in.size() == 2) {
    run_inputs<2>(loop, out, {x[0], x[1]});
  } else {
    run_inputs<3>(loop, out, {x[0], x[1], x[2]});
  }
}

void run_function(FunctionLoop loop, const Constants& constants,
                  const Tensor& out, std::initializer_list<const Tensor*> in) {
  run_row_loop(
      [loop, &constants](const float* const* rows, float* to, std::size_t n) {
        loop(rows, constants, to, n);
      },
      out, in);
}

void run_loop(FloatLoop loop, FloatLoop of_number, const Operands& operands) {
  if (of_number != nullptr && operands.y != nullptr &&
      (run_number(of_number, operands.out, operands.x, *operands.y) ||
       run_number(of_number, operands.out, *operands.y, operands.x))) {
    return;
  }
  const auto c = static_cast<float>(operands.c);
  if (operands.y == nullptr) {
    run_row_loop([=](const float* const* in, float* out,
                     std::size_t n) { loop(in[0], nullptr, c, out, n); },
                 operands.out, {&operands.x});
  } else {
    run_row_loop([=](const float* const* in, float* out,
                     std::size_t n) { loop(in[0], in[1], c, out, n); },
                 operands.out, {&operands.x, operands.y});
  }
}

}  // namespace hvd::autograd
