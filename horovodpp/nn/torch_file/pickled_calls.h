// SPDX-License-Identifier: Apache-2.0
// The calls that a pickle of PyTorch may ask for: those that make tensors and
// empty dicts.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/nn/torch_file/pickled_values.h"

namespace hvd::nn {

// The result of calling `function` with `arguments`, values of `pickle`.
//   DataLoss       the arguments do not fit
//   Unimplemented  another function
absl::StatusOr<PickledValue> call_pickled(const Pickle& pickle,
                                          const std::string& function,
                                          const PickledList& arguments);

// The storage that a persistent identifier names: ('storage', torch.FloatStorage,
// key, device, elements).
//   DataLoss       it has another form
//   Unimplemented  an element type without a DType
absl::StatusOr<PickledStorage> storage_of(const Pickle& pickle,
                                          const PickledList& identifier);

}  // namespace hvd::nn
