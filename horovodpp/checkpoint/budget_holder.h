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
  // Whether forward runs, or a backward has come to it, which soon lets go of it.
  virtual bool is_in_use() const = 0;
  // What it would cost: how long forward took until all was saved that backward
  // needs.
  virtual double replay_seconds() const = 0;
  // Lets go of it all.
  virtual std::vector<Tensor> drop() = 0;
  // Takes back what it let go of, if it is that of `place` and still wanted.
  virtual void refill(std::uint32_t place, const Tensor& tensor) = 0;

  // No other's.
  virtual std::uint64_t budget_mark() const = 0;
  // Of those within it, in order.
  virtual std::vector<std::uint64_t> children() const = 0;

 protected:
  ~BudgetHolder() = default;
};

}  // namespace autograd
}  // namespace hvd
