// SPDX-License-Identifier: Apache-2.0
// The pickle of a file that PyTorch has saved, as a tree of values. The reader
// builds dicts, lists, numbers, texts and descriptions of tensors, and calls
// nothing else: a pickle that asks for another function is refused, so that
// reading a file cannot run code.
//
// For any bytes, the result is a tree or an error that describes the damage.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "horovodpp/nn/torch_file/pickled_values.h"

namespace hvd::nn {

//   DataLoss       the pickle is damaged
//   Unimplemented  it calls a function other than those that make tensors, or
//                  uses an instruction or an element type that is not read
absl::StatusOr<Pickle> parse_pickle(std::string_view bytes);

}  // namespace hvd::nn
