// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/direct_flow.h"

#include <algorithm>
#include <array>

namespace hvd::collective {
namespace {

std::size_t bytes_of(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

}  // namespace

TensorFlow::TensorFlow(const DirectShape& shape, std::span<const Piece> pieces,
                       std::span<const Range> needs, const ReduceKernel& kernel)
    : shape_(shape),
      needs_(needs),
      kernel_(kernel),
      count_(total_count(pieces)),
      inputs_(pieces, kernel.element_bytes()),
      own_(inputs_),
      outputs_(inputs_),
      contributions_(static_cast<std::size_t>(shape.ranks)) {}

Range TensorFlow::needed(int rank, const Range& range) const {
  const Range& all = needs_[static_cast<std::size_t>(rank)];
  const std::int64_t begin = std::max(all.begin, range.begin);
  const std::int64_t end =
      std::min(all.begin + all.count, range.begin + range.count);
  return {begin, std::max(end - begin, std::int64_t{0})};
}

void TensorFlow::load(const Range& range, std::byte* slot) {
  inputs_.seek(range.begin);
  inputs_.pack(slot, range.count);
}

// If the results have a place here, they are written there and to the slot in
// one pass.
void TensorFlow::reduce(const Range& range, std::span<std::byte* const> theirs,
                        std::byte* slot) {
  const auto self = static_cast<std::size_t>(shape_.rank);
  std::size_t at = 0;
  own_.seek(range.begin);
  for (std::int64_t left = range.count; left > 0;) {
    const Piece run = own_.take(left);
    for (std::size_t r = 0; r < theirs.size(); ++r) {
      contributions_[r] = r == self ? run.input : theirs[r] + at;
    }
    const std::array<void*, 2> outputs = {slot + at, run.output};
    const std::size_t places = run.output == nullptr ? 1 : 2;
    kernel_.reduce(contributions_, std::span(outputs).first(places), run.count);
    at += bytes_of(run.count, kernel_.element_bytes());
    left -= run.count;
  }
}

void TensorFlow::take_in(const Range& range, const std::byte* slot) {
  outputs_.seek(range.begin);
  outputs_.unpack(slot, range.count);
}

}  // namespace hvd::collective
