// SPDX-License-Identifier: Apache-2.0
// A checkpointed region as its memory budget sees it: it keeps the tensors it
// computed, and can drop them.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class BudgetHolder {
 public:
  // Bytes that drop() would free: memory without other owners.
  virtual std::int64_t held_bytes() const = 0;
  // Whether forward runs, or a backward has reached the region and will soon
  // free its tensors.
  virtual bool is_in_use() const = 0;
  // The cost of drop(): the time that forward took up to its last saved tensor.
  virtual double replay_seconds() const = 0;
  // Drops all kept tensors and returns them.
  virtual std::vector<Tensor> drop() = 0;
  // Takes back a dropped tensor if it matches `place` and is still wanted.
  virtual void refill(std::uint32_t place, const Tensor& tensor) = 0;

  // Unique per holder.
  virtual std::uint64_t budget_mark() const = 0;
  // The marks of nested regions, in order.
  virtual std::vector<std::uint64_t> children() const = 0;

 protected:
  ~BudgetHolder() = default;
};

}  // namespace autograd
}  // namespace hvd
