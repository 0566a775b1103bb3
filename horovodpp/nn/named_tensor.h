// A tensor and what it is called in its model, its optimizer or its file.
#pragma once

#include <string>

#include "horovodpp/tensor/tensor.h"

namespace hvd::nn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace hvd::nn
