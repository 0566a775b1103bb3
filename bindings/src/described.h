// SPDX-License-Identifier: Apache-2.0
// A tensor as Python describes it.
#pragma once

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "horovodpp/core/tensor_view.h"

namespace hvd::python {

// Address, dtype's number, shape.
using Described = std::tuple<std::uintptr_t, int, std::vector<std::int64_t>>;

inline TensorView view_of(const Described& tensor) {
  const auto& [address, dtype, shape] = tensor;
  return TensorView(reinterpret_cast<void*>(address), static_cast<DType>(dtype),
                    Shape(IntSpan(shape.data(), shape.size())));
}

}  // namespace hvd::python
