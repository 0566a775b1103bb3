// SPDX-License-Identifier: Apache-2.0
// Products of tensors that sum over chosen dimensions, with PyTorch's names.
// All are made of matrix products, or of mul() where nothing is summed.
//
//   hvd::Tensor scores = hvd::einsum("bqhd,bkhd->bhqk", {queries, keys});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor outer(const Tensor& a, const Tensor& b);  // [m] [n] -> [m, n]
Tensor dot(const Tensor& a, const Tensor& b);    // [n] [n] -> []
Tensor mv(const Tensor& a, const Tensor& b);     // [m, n] [n] -> [m]
// beta x + alpha a b:  x ~ [n, m, p], a [n, m, k], b [n, k, p] -> [n, m, p]
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b,
               const AddmmOptions& options = {});

// Sums over dimension dims_of_a[i] of `a` and dims_of_b[i] of `b` together; a
// size of 1 repeats. The result has the other dimensions of `a`, then those of `b`.
Tensor tensordot(const Tensor& a, const Tensor& b,
                 const autograd::Dims& dims_of_a,
                 const autograd::Dims& dims_of_b);
// Over the last `dims` dimensions of `a` and the first ones of `b`.
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims = 2);

// Einstein's summation. Letters name dimensions: "ij,jk->ik" is a matrix
// product. "..." stands for any further dimensions, which broadcast; a letter
// twice in one operand takes the diagonal. Without "->", the result has the
// dimensions of "...", then the letters that occur once, in alphabetical order.
// Operands are multiplied from left to right. An operand and an intermediate
// result have at most 8 dimensions.
//   InvalidArgument  the equation is malformed, or sizes of a letter differ
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace hvd
