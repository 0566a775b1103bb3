// SPDX-License-Identifier: Apache-2.0
// Chooses one of three functions by the number of dimensions.
#pragma once

#include <type_traits>

#include "horovodpp/kernel/products/conv_options.h"

namespace hvd::nn {

template <typename Size, typename One, typename Two, typename Three>
constexpr auto by_dims(One one, Two two, Three three) {
  if constexpr (std::is_same_v<Size, Triple>) {
    return three;
  } else if constexpr (std::is_same_v<Size, Pair>) {
    return two;
  } else {
    return one;
  }
}

}  // namespace hvd::nn
