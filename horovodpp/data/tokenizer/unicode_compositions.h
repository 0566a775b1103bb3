// SPDX-License-Identifier: Apache-2.0
// Unicode's canonical decompositions, but for Korean syllables, and classes of
// combining marks, each ascending.
#pragma once

#include <cstdint>
#include <span>

namespace hvd::data {

struct Decomposition {
  std::uint32_t code;
  std::uint32_t first;   // May have a decomposition itself.
  std::uint32_t second;  // 0: none.
};
// Those that NFC composes again, and those that it does not.
std::span<const Decomposition> compositions();
std::span<const Decomposition> one_way_decompositions();

struct CombiningClass {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t number;
};
// Of the marks whose class is not 0.
std::span<const CombiningClass> combining_classes();

}  // namespace hvd::data
