// SPDX-License-Identifier: Apache-2.0
// Checks that our declaration of a C function matches that of its header.
#pragma once

#include <type_traits>

namespace hvd::testing {

// Whether a call passes A and B alike: both are addresses, numbers of one size,
// or objects of one size.
template <typename A, typename B>
constexpr bool passed_alike() {
  constexpr auto is_number = [](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::is_integral_v<T> || std::is_enum_v<T>;
  };
  if (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  }
  if (std::is_class_v<A> || std::is_class_v<B>) {
    return std::is_class_v<A> && std::is_class_v<B> && sizeof(A) == sizeof(B);
  }
  return is_number(static_cast<A*>(nullptr)) &&
         is_number(static_cast<B*>(nullptr)) && sizeof(A) == sizeof(B);
}

template <typename Ours, typename Theirs>
struct DeclaredAlike : std::false_type {};

template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct DeclaredAlike<R(A...), S(B...)>
    : std::bool_constant<passed_alike<R, S>() &&
                         (passed_alike<A, B>() && ...)> {
};

}  // namespace hvd::testing
