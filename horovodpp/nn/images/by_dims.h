// SPDX-License-Identifier: Apache-2.0
// Chooses among the functions for images of 1, 2 and 3 dimensions, by the type
// of a Size.
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
