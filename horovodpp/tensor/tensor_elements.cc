// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/half.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

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

namespace {

Tensor contiguous_copy(const Tensor& x) {
  Tensor copy = empty(x.shape(), {.dtype = x.dtype()});
  autograd::convert_into(copy, autograd::on_device(x, Device::cpu()));
  return copy;
}

}  // namespace

template <typename T>
T Tensor::item() const {
  if (num_elements() != 1) {
    throw InvalidArgument(absl::StrCat("item: a ", describe(), " has ",
                                       num_elements(),
                                       " elements, and not one"));
  }
  check_dtype(dtype_of<T>);
  if (!device().is_cpu()) {
    return autograd::on_device(*this, Device::cpu()).item<T>();
  }
  return *data<const T>();
}

template <typename T>
std::vector<T> Tensor::to_vector() const {
  check_dtype(dtype_of<T>);
  const Tensor rows = contiguous_copy(*this);
  const T* first = rows.data<T>();
  return std::vector<T>(first, first + rows.num_elements());
}

#define HVD_INSTANTIATE_ELEMENT(T) \
  template T Tensor::item() const; \
  template std::vector<T> Tensor::to_vector() const;
HVD_INSTANTIATE_ELEMENT(std::uint8_t)
HVD_INSTANTIATE_ELEMENT(std::int8_t)
HVD_INSTANTIATE_ELEMENT(std::int16_t)
HVD_INSTANTIATE_ELEMENT(std::int32_t)
HVD_INSTANTIATE_ELEMENT(std::int64_t)
HVD_INSTANTIATE_ELEMENT(f16)
HVD_INSTANTIATE_ELEMENT(bf16)
HVD_INSTANTIATE_ELEMENT(float)
HVD_INSTANTIATE_ELEMENT(double)
HVD_INSTANTIATE_ELEMENT(bool)
#undef HVD_INSTANTIATE_ELEMENT

}  // namespace hvd
