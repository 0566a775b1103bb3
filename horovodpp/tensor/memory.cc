// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// Whether each dimension, from the fastest to the slowest, steps over the whole
// reach of the faster ones. Then no two elements share an address.
bool lies_apart(const Dims& shape, const Dims& strides) {
  if (is_contiguous(shape, strides)) return true;
  std::array<bool, Dims::kMax> seen{};
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::size_t next = shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool less = next == shape.size() || strides[d] < strides[next];
      if (!seen[d] && less) next = d;
    }
    seen[next] = true;
    if (shape[next] == 1) continue;
    if (strides[next] <= reached) return false;
    reached += (shape[next] - 1) * strides[next];
  }
  return true;
}

// Exact check, element by element.
bool some_places_are_one(const Dims& shape, const Dims& strides) {
  std::vector<std::int64_t> places{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t count = places.size();
    for (std::int64_t i = 1; i < shape[d]; ++i) {
      for (std::size_t k = 0; k < count; ++k) {
        places.push_back(places[k] + i * strides[d]);
      }
    }
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace

bool shares_memory(const Tensor& a, const Tensor& b) {
  const Storage& x = *a.impl()->storage;
  const Storage& y = *b.impl()->storage;
  const auto first = reinterpret_cast<std::uintptr_t>(x.address());
  const auto second = reinterpret_cast<std::uintptr_t>(y.address());
  return first < second + y.bytes() && second < first + x.bytes();
}

bool repeats_places(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return false;
  const Dims& shape = tensor.shape();
  const Dims& strides = tensor.strides();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] == 0 && shape[i] > 1) return true;
  }
  return !lies_apart(shape, strides) && some_places_are_one(shape, strides);
}

void scatter_add(const Tensor& places, const Tensor& values) {
  visit_arithmetic(places.dtype(), "scatter_add", [&]<typename T>(TypeTag<T>) {
    // In order, on one thread: rows may share addresses.
    const auto walk = walk_as_stored<2>(
        places.shape(),
        {places.strides(), broadcast_strides(values, places.shape())});
    const auto [step, from_step] = walk.row_steps();
    walk.for_each_row([&, step = step, from_step = from_step](const auto& at) {
      T* to = places.data<T>() + at[0];
      const T* from = values.data<T>() + at[1];
      for (std::int64_t i = 0; i < walk.row_size(); ++i) {
        T& sum = to[i * step];
        sum = stored<T>(loaded(sum) + loaded(from[i * from_step]));
      }
    });
  });
}

}  // namespace hvd::autograd
