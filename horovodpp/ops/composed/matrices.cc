// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/matrices.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/contractions.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

[[noreturn]] void refuse_shapes(const char* operation, const Tensor& a,
                                const Tensor& b) {
  throw InvalidArgument(absl::StrCat(operation, ": ", a.describe(), " and ",
                                     b.describe(), " do not fit"));
}

void check_ranks(const char* operation, const Tensor& a, const Tensor& b,
                 std::int64_t rank_of_a, std::int64_t rank_of_b) {
  autograd::check_defined(a, operation);
  autograd::check_defined(b, operation);
  if (a.dim() != rank_of_a || b.dim() != rank_of_b) {
    refuse_shapes(operation, a, b);
  }
}

}  // namespace

Tensor inner(const Tensor& a, const Tensor& b) {
  autograd::check_defined(a, "inner");
  autograd::check_defined(b, "inner");
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  if (a.size(-1) != b.size(-1)) refuse_shapes("inner", a, b);
  return tensordot(a, b, Dims{-1}, Dims{-1});
}

Tensor kron(const Tensor& a, const Tensor& b) {
  autograd::check_defined(a, "kron");
  autograd::check_defined(b, "kron");
  constexpr std::int64_t kMost = 4;  // Twice as many in between.
  const std::int64_t rank = std::max(a.dim(), b.dim());
  if (rank > kMost) refuse_shapes("kron", a, b);
  Dims of_a, of_b, result;
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto size_of = [&](const Tensor& x) {
      const std::int64_t added = rank - x.dim();
      return i < added ? 1 : x.size(i - added);
    };
    const std::int64_t m = size_of(a);
    const std::int64_t n = size_of(b);
    of_a.push_back(m);
    of_a.push_back(1);
    of_b.push_back(1);
    of_b.push_back(n);
    result.push_back(m * n);
  }
  return autograd::resized(mul(reshape(a, of_a), reshape(b, of_b)), result);
}

Tensor matrix_trace(const Tensor& x) {
  autograd::check_defined(x, "matrix_trace");
  if (x.dim() != 2) {
    throw InvalidArgument(
        absl::StrCat("matrix_trace: ", x.describe(), " is not a matrix"));
  }
  return sum(diagonal(x));
}

Tensor addmv(const Tensor& x, const Tensor& m, const Tensor& v,
             const AddmmOptions& options) {
  autograd::check_defined(x, "addmv");
  check_ranks("addmv", m, v, 2, 1);
  return squeeze(addmm(unsqueeze(x, -1), m, unsqueeze(v, 1), options), 1);
}

Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b,
            const AddmmOptions& options) {
  check_ranks("addr", a, b, 1, 1);
  return addmm(x, unsqueeze(a, 1), unsqueeze(b, 0), options);
}

Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b,
              const AddmmOptions& options) {
  check_ranks("addbmm", a, b, 3, 3);
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    refuse_shapes("addbmm", a, b);
  }
  const std::int64_t summed = a.size(0) * a.size(2);
  return addmm(x, reshape(permute(a, {1, 0, 2}), {a.size(1), summed}),
               reshape(b, {summed, b.size(2)}), options);
}

}  // namespace hvd
