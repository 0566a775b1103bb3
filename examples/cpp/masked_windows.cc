// SPDX-License-Identifier: Apache-2.0
#include "masked_windows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr double kMaskedShare = 0.15;
constexpr std::int64_t kNoTarget = -100;
constexpr std::uint64_t kMaskSeed = 0x6d61736b;

// The masked places of item `index`.
std::vector<std::int64_t> masked_places(std::int64_t index,
                                        std::size_t length) {
  hvd::autograd::Generator generator(kMaskSeed +
                                     static_cast<std::uint64_t>(index));
  std::vector<std::int64_t> places(length);
  generator.permutation(places);
  const auto count = std::lround(kMaskedShare * static_cast<double>(length));
  places.resize(static_cast<std::size_t>(std::max(count, 1L)));
  return places;
}

}  // namespace

hvd::data::Item MaskedWindows::get(std::int64_t index) const {
  auto inputs = windows_.get(index)[0].to_vector<std::int64_t>();
  std::vector<std::int64_t> targets(inputs.size(), kNoTarget);
  for (const std::int64_t place : masked_places(index, inputs.size())) {
    const auto at = static_cast<std::size_t>(place);
    targets[at] = inputs[at];
    inputs[at] = kMask;
  }
  const auto length = static_cast<std::int64_t>(inputs.size());
  return {hvd::from_vector(inputs, {length}),
          hvd::from_vector(targets, {length})};
}
