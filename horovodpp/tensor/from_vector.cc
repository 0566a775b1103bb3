// SPDX-License-Identifier: Apache-2.0
// In a file of its own: a template instance gets the visibility of its
// namespace and of its first use in the file, also in unity builds.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/half.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/tensor/factories.h"

namespace HVD_EXPORT hvd {

template <typename T>
Tensor from_vector(const std::vector<T>& values, const autograd::Dims& shape,
                   bool requires_grad) {
  if (static_cast<std::int64_t>(values.size()) != shape.product()) {
    throw InvalidArgument(absl::StrCat("from_vector: ", values.size(),
                                       " values do not fill shape ",
                                       shape.to_string()));
  }
  Tensor tensor = empty(shape, {.dtype = dtype_of<T>});
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return requires_grad ? tensor.set_requires_grad(true) : tensor;
}

template Tensor from_vector(const std::vector<std::uint8_t>&,
                            const autograd::Dims&, bool);
template Tensor from_vector(const std::vector<std::int8_t>&,
                            const autograd::Dims&, bool);
template Tensor from_vector(const std::vector<std::int16_t>&,
                            const autograd::Dims&, bool);
template Tensor from_vector(const std::vector<std::int32_t>&,
                            const autograd::Dims&, bool);
template Tensor from_vector(const std::vector<std::int64_t>&,
                            const autograd::Dims&, bool);
template Tensor from_vector(const std::vector<f16>&, const autograd::Dims&,
                            bool);
template Tensor from_vector(const std::vector<bf16>&, const autograd::Dims&,
                            bool);
template Tensor from_vector(const std::vector<float>&, const autograd::Dims&,
                            bool);
template Tensor from_vector(const std::vector<double>&, const autograd::Dims&,
                            bool);
template Tensor from_vector(const std::vector<bool>&, const autograd::Dims&,
                            bool);

}  // namespace hvd
