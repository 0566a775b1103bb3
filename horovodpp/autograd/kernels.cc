#include "horovodpp/autograd/kernels.h"

#include "horovodpp/autograd/factories.h"
#include "horovodpp/autograd/ops.h"

namespace hvd::autograd {

Dims broadcast_strides(const Dims& sizes, const Dims& strides, const Dims& to) {
  Dims result = Dims::filled(to.size(), 0);
  const std::size_t missing = to.size() - sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == to[missing + i]) result[missing + i] = strides[i];
  }
  return result;
}

Tensor empty_for(const Tensor& a, const Tensor& b, const char* operation) {
  if (a.sizes() == b.sizes()) return empty_like(a);
  const Dims sizes = broadcast(a.sizes(), b.sizes(), operation);
  if (sizes == a.sizes()) return empty_like(a);
  if (sizes == b.sizes()) {
    return empty_strided(sizes, strides_like(sizes, b.strides()), a.dtype());
  }
  return empty(sizes, {.dtype = a.dtype()});
}

Tensor widened(const Tensor& x) {
  if (x.dtype() != DType::kBF16 && x.dtype() != DType::kF16) return x;
  NoGrad no_grad;
  return to(x, DType::kF32);
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

void throw_bad_dtype(DType dtype, const char* operation,
                     const char* supported) {
  throw InvalidArgument(absl::StrCat(operation, ": computes in ", supported,
                                     ", not in ", name_of(dtype),
                                     "; convert with to()"));
}

void scatter_add(const Tensor& places, const Tensor& values) {
  visit_arithmetic(places.dtype(), "scatter_add", [&]<typename T>(TypeTag<T>) {
    map2<T>(places, places, values, [](auto a, auto b) { return a + b; });
  });
}

}  // namespace hvd::autograd
