// SPDX-License-Identifier: Apache-2.0
// Checks of the frequencies of rotary embeddings. Only for this folder.
#pragma once

#include "horovodpp/ops/attention/rotary.h"

namespace hvd::autograd {

//   InvalidArgument  the base is not positive, or the scaling is invalid
void check_scaling(const RotaryOptions& options);

}  // namespace hvd::autograd
