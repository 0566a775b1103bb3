// SPDX-License-Identifier: Apache-2.0
// The pieces of a flat buffer of gradients, see GradientReducer::add().
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/reducer_options.h"

namespace hvd::replica {

// Checks that all pieces lie within `elements` elements, do not overlap, and
// have different keys.
//   hvd::Error (InvalidArgument)  they do not
void check_pieces(const std::vector<GradientPiece>& pieces,
                  std::int64_t elements);

TensorView view_of(const TensorView& buffer, const GradientPiece& piece);

}  // namespace hvd::replica
