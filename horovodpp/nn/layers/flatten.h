// SPDX-License-Identifier: Apache-2.0
// Flatten: merges dimensions start_dim to end_dim; by default all but the
// first.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1)
      : start_dim_(start_dim), end_dim_(end_dim) {}

  //   InvalidArgument  a dimension is out of range, or end_dim precedes
  //                    start_dim
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t start_dim_;
  const std::int64_t end_dim_;
};

}  // namespace nn
}  // namespace hvd
