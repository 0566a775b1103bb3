// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): random numbers as a function of a key and a counter.
#pragma once

#include <array>
#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Four random words for `counter` under `key`.
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key);

// Position in a stream of random numbers: the key, and the blocks drawn so far.
struct RandomState {
  static constexpr std::uint64_t kDefaultSeed = 67280421310721;

  std::uint64_t seed = kDefaultSeed;
  std::uint64_t offset = 0;
  friend bool operator==(const RandomState&, const RandomState&) = default;
};

}  // namespace autograd
}  // namespace hvd
