// SPDX-License-Identifier: Apache-2.0
// A tensor with its name in a model, an optimizer or a file.
#pragma once

#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace nn
}  // namespace hvd
