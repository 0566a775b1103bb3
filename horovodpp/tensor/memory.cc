#include "horovodpp/tensor/memory.h"

#include <cstdint>

namespace hvd::autograd {

bool shares_memory(const Tensor& a, const Tensor& b) {
  const Storage& x = *a.impl()->storage;
  const Storage& y = *b.impl()->storage;
  const auto first = reinterpret_cast<std::uintptr_t>(x.data());
  const auto second = reinterpret_cast<std::uintptr_t>(y.data());
  return first < second + y.bytes() && second < first + x.bytes();
}

bool repeats_places(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return false;
  for (std::size_t i = 0; i < tensor.sizes().size(); ++i) {
    if (tensor.strides()[i] == 0 && tensor.sizes()[i] > 1) return true;
  }
  return false;
}

}  // namespace hvd::autograd
