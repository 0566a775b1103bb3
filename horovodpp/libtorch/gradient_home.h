// SPDX-License-Identifier: Apache-2.0
// A place for a gradient in memory that the ranks of a node share, where it is
// reduced without a copy.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// An uninitialized tensor in such memory.
//   Error (HVD_RESOURCE_EXHAUSTED)  no memory is left
inline torch::Tensor arena_empty(torch::IntArrayRef shape,
                                 torch::ScalarType type = torch::kFloat) {
  std::size_t bytes = torch::elementSize(type);
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  void* const memory = hvd_arena_alloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) internal::throw_if_error(hvd_last_error_code());
  return torch::from_blob(
      memory, shape, [](void* given) { hvd_arena_free(given); },
      torch::TensorOptions().dtype(type));
}

namespace internal {

// libtorch allocates a gradient anywhere if a parameter has none. The gradient
// is then moved here; later contributions are added in-place. If the program
// still holds the previous step's gradient, a new place is used.
class GradientHome {
 public:
  // A copy of `gradient`, which is dense, in this place.
  torch::Tensor take_in(const torch::Tensor& gradient) {
    const bool fits = place_.defined() && place_.storage().use_count() == 1 &&
                      place_.scalar_type() == gradient.scalar_type() &&
                      place_.sizes() == gradient.sizes();
    if (!fits) {
      // For the memory that moved gradients leave.
      hvd_keep_freed_memory();
      place_ = arena_empty(gradient.sizes(), gradient.scalar_type());
    }
    place_.copy_(gradient);
    return place_.detach();  // Shares the storage; its use count shows holders.
  }

 private:
  torch::Tensor place_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
