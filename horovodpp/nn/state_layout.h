// SPDX-License-Identifier: Apache-2.0
// The layout of a state: the names, types and shapes of its tensors, as the
// header of a safetensors file. With it a state can be sent, or kept, as the
// bytes of its tensors.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/nn/state_dict.h"

namespace hvd::nn {

//   InvalidArgument  a name is not UTF-8, or occurs twice
absl::StatusOr<std::string> layout_of(const StateDict& state);

// Uninitialized tensors of that layout.
//   hvd::Error (DataLoss)  `layout` is damaged
StateDict empty_state(const std::string& layout);

}  // namespace hvd::nn
