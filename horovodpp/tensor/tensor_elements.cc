// SPDX-License-Identifier: Apache-2.0
// The methods of Tensor that read elements.
#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
namespace {

Tensor contiguous_copy(const Tensor& x) {
  Tensor copy = empty(x.shape(), {.dtype = x.dtype()});
  autograd::convert_into(copy, x);
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
