// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>

#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/products/dnnl_describe.h"
#include "horovodpp/kernel/products/dnnl_routine.h"

namespace hvd::autograd::blas {
namespace {

using dnnl::memory;

template <typename T>
memory::desc describe(std::int64_t rows, std::int64_t columns,
                      const Matrix<T>& matrix) {
  const memory::dims strides = matrix.transposed
                                   ? memory::dims{1, matrix.stride}
                                   : memory::dims{matrix.stride, 1};
  return memory::desc({rows, columns}, memory::data_type::bf16, strides);
}

// Null if oneDNN has only its reference implementation.
DnnlCache::Routine make(const memory::desc& a, const memory::desc& b,
                        const memory::desc& c) {
  try {
    const auto made =
        describe_primitive<dnnl::matmul>(dnnl_attributes(), a, b, c);
    const std::string by = made.impl_info_str();
    if (by.starts_with("ref")) return nullptr;
    const std::array<DnnlRoutine::Argument, 3> arguments{
        {{DNNL_ARG_SRC, a, made.src_desc()},
         {DNNL_ARG_WEIGHTS, b, made.weights_desc()},
         {DNNL_ARG_DST, c, made.dst_desc(), true}}};
    return std::make_shared<const DnnlRoutine>(
        dnnl::matmul(made), made.scratchpad_desc(), arguments);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace

bool gemm(const GemmSize& size, Matrix<const bf16> a, Matrix<const bf16> b,
          Matrix<bf16> c) {
  if (!dnnl_type(DType::kBF16)) return false;
  static auto& cache = *new DnnlCache;
  const auto routine = cache.get(
      {size.m, size.n, size.k, a.stride, a.transposed, b.stride, b.transposed,
       c.stride, c.transposed},
      [&] {
        return make(describe(size.m, size.k, a), describe(size.k, size.n, b),
                    describe(size.m, size.n, c));
      });
  if (routine == nullptr) return false;
  const std::array<void*, 3> memory{const_cast<bf16*>(a.data),
                                    const_cast<bf16*>(b.data), c.data};
  routine->run(memory);
  return true;
}

}  // namespace hvd::autograd::blas
