// SPDX-License-Identifier: Apache-2.0
// A checkpointed region under a memory budget, as the budget sees it: it keeps what
// it computed, and can let go of it.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class BudgetHolder {
 public:
  // What would be free then: memory that is nobody else's.
  virtual std::int64_t held_bytes() const = 0;
  // What it would cost: how long forward took until all was saved that backward
  // needs. Not known while it runs.
  virtual bool is_running() const = 0;
  virtual double replay_seconds() const = 0;
  // Lets go of it all.
  virtual std::vector<Tensor> drop() = 0;

 protected:
  ~BudgetHolder() = default;
};

}  // namespace autograd
}  // namespace hvd
