// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/products.h"

#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

bool readable(std::int64_t inner_step, std::int64_t inner,
              std::int64_t outer_step, std::int64_t outer) {
  return (inner_step == 1 || inner == 1) &&
         (outer_step >= std::max<std::int64_t>(inner, 1) || outer == 1);
}

// The BLAS layout of the matrices of x; replaces x by a copy if needed.
BlasLayout matrices_of(Tensor& x) {
  const auto layout = [&] {
    return blas_layout(x.size(-2), x.size(-1),
                       x.strides()[x.shape().size() - 2], x.strides().back());
  };
  if (const auto found = layout()) return *found;
  x = clone(x);
  return *layout();
}

// The strides of the matrices of x, broadcast to shape `batch`.
Dims batch_strides(const Tensor& x, const Dims& batch) {
  Dims shape = x.shape();
  Dims strides = x.strides();
  for (int i = 0; i < 2; ++i) {
    shape.erase(shape.size() - 1);
    strides.erase(strides.size() - 1);
  }
  return broadcast_strides(shape, strides, batch);
}

Dims batch_shape(const Tensor& x) {
  Dims shape = x.shape();
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

template <typename T>
void multiply_all(const blas::GemmSize& size, const Dims& batch, Tensor& a,
                  Tensor& b, const Tensor& out) {
  const BlasLayout as = matrices_of(a);
  const BlasLayout bs = matrices_of(b);
  const Walk<3> walk(batch, {batch_strides(out, batch), batch_strides(a, batch),
                             batch_strides(b, batch)});
  const auto [so, sa, sb] = walk.row_steps();
  walk.for_each_row([&, so = so, sa = sa, sb = sb](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      const T* left = a.data<T>() + at[1] + i * sa;
      const T* right = b.data<T>() + at[2] + i * sb;
      blas::gemm(size, blas::Matrix<const T>{left, as.stride, as.transposed},
                 blas::Matrix<const T>{right, bs.stride, bs.transposed},
                 blas::Matrix<T>{out.data<T>() + at[0] + i * so, size.n});
    }
  });
}

// A single bfloat16 product without conversion to float32, if the BLAS library
// supports that.
std::optional<Tensor> product_of_halves(Tensor a, Tensor b,
                                        const blas::GemmSize& size,
                                        const Dims& shape) {
  if (a.dtype() != DType::kBF16 || shape.product() != size.m * size.n) {
    return std::nullopt;
  }
  const BlasLayout as = matrices_of(a);
  const BlasLayout bs = matrices_of(b);
  Tensor out = empty(shape, {.dtype = DType::kBF16});
  const bool done = blas::gemm(
      size, blas::Matrix<const bf16>{a.data<bf16>(), as.stride, as.transposed},
      blas::Matrix<const bf16>{b.data<bf16>(), bs.stride, bs.transposed},
      blas::Matrix<bf16>{out.data<bf16>(), size.n});
  return done ? std::optional(out) : std::nullopt;
}

// out [m, n] = a [m, k] b [k, n], modulo 2^64. All are row-major.
void multiply_integers(const blas::GemmSize& size, const std::int64_t* a,
                       const std::int64_t* b, std::int64_t* out) {
  parallel_for({.count = size.m, .cost = size.n * size.k},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t* row = out + i * size.n;
                   for (std::int64_t l = 0; l < size.k; ++l) {
                     const auto left =
                         static_cast<std::uint64_t>(a[i * size.k + l]);
                     const std::int64_t* right = b + l * size.n;
                     for (std::int64_t j = 0; j < size.n; ++j) {
                       row[j] = static_cast<std::int64_t>(
                           static_cast<std::uint64_t>(row[j]) +
                           left * static_cast<std::uint64_t>(right[j]));
                     }
                   }
                 }
               });
}

// Products of integers, in int64: their low bits are those of narrower types.
Tensor product_of_integers(const Tensor& left, const Tensor& right,
                           const blas::GemmSize& size, const Dims& batch,
                           const Dims& shape) {
  const Tensor a = to(left, DType::kI64).contiguous();
  const Tensor b = to(right, DType::kI64).contiguous();
  const Tensor out = zeros(shape, {.dtype = DType::kI64});
  const Walk<3> walk(batch, {batch_strides(out, batch), batch_strides(a, batch),
                             batch_strides(b, batch)});
  const auto [so, sa, sb] = walk.row_steps();
  walk.for_each_row([&, so = so, sa = sa, sb = sb](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      multiply_integers(size, a.data<std::int64_t>() + at[1] + i * sa,
                        b.data<std::int64_t>() + at[2] + i * sb,
                        out.data<std::int64_t>() + at[0] + i * so);
    }
  });
  return to(out, left.dtype());
}

bool is_integer(DType dtype) {
  return !is_floating_point(dtype) && dtype != DType::kBool;
}

}  // namespace

std::optional<BlasLayout> blas_layout(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_step,
                                      std::int64_t column_step) {
  constexpr std::int64_t kLeast = 1;
  if (readable(column_step, columns, row_step, rows)) {
    return BlasLayout{std::max({row_step, columns, kLeast}), false};
  }
  if (readable(row_step, rows, column_step, columns)) {
    return BlasLayout{std::max({column_step, rows, kLeast}), true};
  }
  return std::nullopt;
}

Tensor product(const Tensor& left, const Tensor& right, const char* operation) {
  NoGrad no_grad;
  const blas::GemmSize size{left.size(-2), right.size(-1), left.size(-1)};
  const Dims batch =
      broadcast(batch_shape(left), batch_shape(right), operation);
  Dims shape = batch;
  shape.push_back(size.m);
  shape.push_back(size.n);
  if (shape.product() == 0 || size.k == 0) {
    return zeros(shape, {.dtype = left.dtype()});
  }
  if (is_integer(left.dtype())) {
    return product_of_integers(left, right, size, batch, shape);
  }
  if (const auto halves = product_of_halves(left, right, size, shape)) {
    return *halves;
  }
  Tensor a = widened(left);
  Tensor b = widened(right);
  Tensor out = empty(shape, {.dtype = a.dtype()});
  visit_floating(a.dtype(), operation, [&]<typename T>(TypeTag<T>) {
    multiply_all<T>(size, batch, a, b, out);
  });
  return to(out, left.dtype());
}

}  // namespace hvd::autograd
