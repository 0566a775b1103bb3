// SPDX-License-Identifier: Apache-2.0
// Finds the tensors in a value: a Tensor, nested containers of tensors, and
// user types, for which a function in their namespace visits them:
//
//   template <typename Visit>
//   void visit_tensors(Batch& batch, Visit visit) {
//     visit(batch.images);
//     visit(batch.labels);
//   }
//
// A value of any other type has no tensors.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

struct NoVisit {
  void operator()(Tensor& /*tensor*/) const {}
};

template <typename T>
concept HasVisitTensors = requires(T& value) {
  visit_tensors(value, NoVisit());
};

template <typename T>
struct TensorsIn {
  template <typename Visit>
  static void visit(T& value, Visit& call) {
    if constexpr (std::same_as<T, Tensor>) {
      call(value);
    } else if constexpr (HasVisitTensors<T>) {
      visit_tensors(value, call);
    }
  }
};

// Calls `call(tensor)` for each tensor in `value`, in an order that depends
// only on the structure of `value`.
template <typename T, typename Visit>
void for_each_tensor(T& value, Visit& call) {
  TensorsIn<T>::visit(value, call);
}

template <typename Range>
struct TensorsInRange {
  template <typename Visit>
  static void visit(Range& range, Visit& call) {
    for (auto& value : range) for_each_tensor(value, call);
  }
};
template <typename T, typename A>
requires(!std::same_as<T, bool>) struct TensorsIn<std::vector<T, A>>
    : TensorsInRange<std::vector<T, A>> {
};
template <typename T, std::size_t kCount>
struct TensorsIn<std::array<T, kCount>>
    : TensorsInRange<std::array<T, kCount>> {};

template <typename Map>
struct TensorsInMap {
  template <typename Visit>
  static void visit(Map& map, Visit& call) {
    for (auto& entry : map) for_each_tensor(entry.second, call);
  }
};
template <typename K, typename T, typename... Rest>
struct TensorsIn<std::map<K, T, Rest...>>
    : TensorsInMap<std::map<K, T, Rest...>> {};
template <typename K, typename T, typename... Rest>
struct TensorsIn<std::unordered_map<K, T, Rest...>>
    : TensorsInMap<std::unordered_map<K, T, Rest...>> {};

template <typename T>
struct TensorsIn<std::optional<T>> {
  template <typename Visit>
  static void visit(std::optional<T>& value, Visit& call) {
    if (value) for_each_tensor(*value, call);
  }
};
template <typename A, typename B>
struct TensorsIn<std::pair<A, B>> {
  template <typename Visit>
  static void visit(std::pair<A, B>& value, Visit& call) {
    for_each_tensor(value.first, call);
    for_each_tensor(value.second, call);
  }
};
template <typename... T>
struct TensorsIn<std::tuple<T...>> {
  template <typename Visit>
  static void visit(std::tuple<T...>& value, Visit& call) {
    std::apply([&](auto&... element) { (for_each_tensor(element, call), ...); },
               value);
  }
};

// The tensors in `value`.
template <typename T>
std::vector<Tensor> tensors_in(T& value) {
  std::vector<Tensor> result;
  auto add = [&](Tensor& tensor) { result.push_back(tensor); };
  for_each_tensor(value, add);
  return result;
}
// As tensors_in(), but leaves undefined tensors in `value`.
template <typename T>
std::vector<Tensor> take_tensors(T& value) {
  std::vector<Tensor> result;
  auto take = [&](Tensor& tensor) {
    result.push_back(std::exchange(tensor, Tensor()));
  };
  for_each_tensor(value, take);
  return result;
}
// Assigns `tensors` to the tensors in `value`, in order.
template <typename T>
void give_tensors(T& value, std::span<const Tensor> tensors) {
  std::size_t next = 0;
  auto give = [&](Tensor& tensor) { tensor = tensors[next++]; };
  for_each_tensor(value, give);
}

}  // namespace autograd
}  // namespace hvd
