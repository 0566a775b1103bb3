// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/walk.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"

namespace hvd::autograd {

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& to) {
  Dims result = Dims::filled(to.size(), 0);
  const std::size_t missing = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == to[missing + i]) result[missing + i] = strides[i];
  }
  return result;
}

Tensor empty_for(const Tensor& a, const Tensor& b, const char* operation) {
  if (a.shape() == b.shape()) return empty_like(a);
  const Dims shape = broadcast(a.shape(), b.shape(), operation);
  if (shape == a.shape()) return empty_like(a);
  if (shape == b.shape()) {
    return empty_strided(shape, strides_like(shape, b.strides()), a.dtype());
  }
  return empty(shape, {.dtype = a.dtype()});
}

void check_defined(const Tensor& tensor, const char* operation) {
  if (!tensor.defined()) {
    throw InvalidArgument(absl::StrCat(operation, ": a tensor is undefined"));
  }
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* operation) {
  check_defined(a, operation);
  check_defined(b, operation);
  if (a.dtype() != b.dtype()) {
    throw InvalidArgument(
        absl::StrCat(operation, ": ", a.describe(), " and ", b.describe(),
                     " differ in dtype; convert one of them with to()"));
  }
}

void scatter_add(const Tensor& places, const Tensor& values) {
  visit_arithmetic(places.dtype(), "scatter_add", [&]<typename T>(TypeTag<T>) {
    // In order, on one thread: rows may share addresses.
    const auto walk = walk_as_stored<3>(
        places.shape(), {places.strides(), places.strides(),
                         broadcast_strides(values, places.shape())});
    T* to = places.data<T>();
    walk.for_each_row([&](const auto& at) {
      map_row(to, to, values.data<T>(),
              {.at = at, .steps = walk.row_steps(), .size = walk.row_size()},
              [](auto a, auto b) { return a + b; });
    });
  });
}

}  // namespace hvd::autograd
