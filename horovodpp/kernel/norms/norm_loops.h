// SPDX-License-Identifier: Apache-2.0
// Vector loops of the normalizations, for float and double. A matrix is `rows`
// times `columns`, row by row. batch_norm works on its columns (the channels),
// layer_norm on its rows. Sums over many rows accumulate in double.
#pragma once

#include <cstdint>

namespace hvd::autograd {

struct MatrixSize {
  std::int64_t rows;
  std::int64_t columns;
};

// Mean and variance (divided by the number of rows) of each column, in one
// pass.
void column_moments(const MatrixSize& size, const float* x, double* mean,
                    double* variance);
void column_moments(const MatrixSize& size, const double* x, double* mean,
                    double* variance);

// y = x scale + shift, with a scale and a shift for each column.
template <typename T>
struct ColumnScale {
  const T* x;
  const T* scale;
  const T* shift;
  T* y;
};
void scale_columns(const MatrixSize& size, const ColumnScale<float>& s);
void scale_columns(const MatrixSize& size, const ColumnScale<double>& s);

// sum = sum of g, dot = sum of g (x - mean), for each column.
template <typename T>
struct ColumnSums {
  const T* x;
  const T* g;
  const T* mean;
  double* sum;
  double* dot;
};
void sum_columns(const MatrixSize& size, const ColumnSums<float>& s);
void sum_columns(const MatrixSize& size, const ColumnSums<double>& s);

// y = g a + (x - mean) b + c, with a, b, c and mean for each column.
template <typename T>
struct ColumnBlend {
  const T* x;
  const T* g;
  const T* mean;
  const T* a;
  const T* b;
  const T* c;
  T* y;
};
void blend_columns(const MatrixSize& size, const ColumnBlend<float>& s);
void blend_columns(const MatrixSize& size, const ColumnBlend<double>& s);

// y = (x - mean) rstd weight + bias, where mean and rstd = 1 / sqrt(variance +
// eps) of each row are outputs; weight and bias are rows, or null. x and y are
// of type X, the others of T; half_norms.h has 16-bit types.
template <typename X, typename T = X>
struct RowNorm {
  const X* x;
  const T* weight;
  const T* bias;
  double eps;
  X* y;
  T* mean;
  T* rstd;
};
void normalize_rows(const MatrixSize& size, const RowNorm<float>& s);
void normalize_rows(const MatrixSize& size, const RowNorm<double>& s);

// The gradients of normalize_rows() from g, the gradient of y. Null outputs are
// skipped. The gradients of weight and bias are in double.
template <typename X, typename T = X>
struct RowNormGradient {
  const X* x;
  const X* g;
  const T* weight;
  const T* mean;
  const T* rstd;
  X* x_gradient;
  double* weight_gradient;
  double* bias_gradient;
};
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<float>& s);
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<double>& s);

}  // namespace hvd::autograd
