// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>

#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/products/dnnl_describe.h"
#include "horovodpp/kernel/products/dnnl_routine.h"
#include "horovodpp/kernel/scratch.h"

namespace hvd::autograd {
namespace {

using dnnl::memory;

bool has_vectors_of_512_bits() {
  static const bool has = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & least) == least;
  }();
  return has;
}

template <typename T>
memory::desc describe(std::int64_t rows, std::int64_t columns,
                      const blas::Matrix<T>& matrix) {
  const memory::dims strides = matrix.transposed
                                   ? memory::dims{1, matrix.stride}
                                   : memory::dims{matrix.stride, 1};
  return memory::desc({rows, columns}, memory::data_type::f32, strides);
}

dnnl::primitive_attr attributes(bool adds) {
  if (!adds) return dnnl_attributes();
  // Create new attributes: a copy would share the originals.
  dnnl::primitive_attr made;
  made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops sum;
  sum.append_sum(1.0F);
  made.set_post_ops(sum);
  return made;
}

using Argument = DnnlRoutine::Argument;

// The product with a right operand in oneDNN's preferred layout. Null if oneDNN
// has only its reference implementation.
DnnlCache::Routine make_product(const memory::desc& a, const memory::dims& b,
                                const memory::desc& c, bool adds) {
  try {
    const memory::desc any(b, memory::data_type::f32, memory::format_tag::any);
    const auto made =
        describe_primitive<dnnl::matmul>(attributes(adds), a, any, c);
    if (std::string(made.impl_info_str()).starts_with("ref")) return nullptr;
    const memory::desc packed = made.weights_desc();
    const std::array<Argument, 3> arguments{{{DNNL_ARG_SRC, a, a},
                                             {DNNL_ARG_WEIGHTS, packed, packed},
                                             {DNNL_ARG_DST, c, c, true}}};
    return std::make_shared<const DnnlRoutine>(
        dnnl::matmul(made), made.scratchpad_desc(), arguments);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

DnnlCache::Routine make_packing(const memory::desc& from,
                                const memory::desc& to) {
  try {
    const dnnl::reorder::primitive_desc made(dnnl_engine(), from, dnnl_engine(),
                                             to, dnnl_attributes());
    const std::array<Argument, 2> arguments{
        {{DNNL_ARG_FROM, from, from}, {DNNL_ARG_TO, to, to, true}}};
    return std::make_shared<const DnnlRoutine>(
        dnnl::reorder(made), made.scratchpad_desc(), arguments);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace

bool blas::float_products_share_openmp() { return has_vectors_of_512_bits(); }

// Returns false where oneDNN was slower than OpenBLAS, as measured on a Zen 4:
// small matrices, and few rows times a column-major matrix.
bool blas::gemm_with_dnnl(const GemmSize& size, Matrix<const float> a,
                          Matrix<const float> b, Matrix<float> c, bool adds) {
  constexpr std::int64_t kFewProducts = 1 << 19;
  if (!has_vectors_of_512_bits() || size.n < 32 || size.k < 8 ||
      (b.transposed && size.m < 32) ||
      size.m * size.n * size.k < kFewProducts) {
    return false;
  }
  apply_threads_to_openmp();
  return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', size.m,
                    size.n, size.k, 1.0F, a.data, a.stride, b.data, b.stride,
                    adds ? 1.0F : 0.0F, c.data, c.stride) == dnnl_success;
}

blas::Multiply<float> blas::multiply_with_dnnl(const Factors& factors,
                                               Matrix<const float> b) {
  constexpr std::int64_t kSmall = 1 << 12;
  constexpr std::int64_t kFewTimes = 4;
  const GemmSize& size = factors.size;
  if (!has_vectors_of_512_bits() || size.n * size.k < kSmall ||
      factors.times < kFewTimes) {
    return nullptr;
  }
  static auto& products = *new DnnlCache;
  static auto& packings = *new DnnlCache;
  DnnlCache::Key key{size.m,           size.n,           size.k,
                     factors.a_stride, factors.c_stride, factors.adds};
  const auto product = products.get(key, [&] {
    return make_product(
        describe<const float>(size.m, size.k, {nullptr, factors.a_stride}),
        {size.k, size.n},
        describe<float>(size.m, size.n, {nullptr, factors.c_stride}),
        factors.adds);
  });
  if (product == nullptr) return nullptr;
  const memory::desc& packed = product->wanted(1);
  key.push_back(b.stride);
  key.push_back(b.transposed);
  const auto packing = packings.get(
      key, [&] { return make_packing(describe(size.k, size.n, b), packed); });
  if (packing == nullptr) return nullptr;
  const auto room = std::make_shared<const Scratch>(packed.get_size());
  packing->run(std::array<void*, 2>{const_cast<float*>(b.data), room->data()});
  return [product, room](const float* a, float* c) {
    product->run(std::array<void*, 3>{const_cast<float*>(a), room->data(), c});
  };
}

}  // namespace hvd::autograd
