// SPDX-License-Identifier: Apache-2.0
// One tensor that a node saved and somebody else holds in another form: what all
// such holders have in common. They say how to restore() it.
#pragma once

#include <atomic>
#include <cstdint>

#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class SavedElsewhere : public SavedTensorHolder {
 public:
  explicit SavedElsewhere(const Tensor& tensor) : original_(tensor) {}
  SavedElsewhere(const SavedElsewhere&) = delete;
  SavedElsewhere& operator=(const SavedElsewhere&) = delete;

  // While it exists: its version is checked.
  Tensor original(std::uint32_t /*place*/) const final {
    return original_.lock();
  }
  // It goes with the last reference, which a backward that runs may have.
  void forget(std::uint32_t /*place*/) final {}
  void retain() final { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() final {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~SavedElsewhere() = default;

 private:
  const WeakTensor original_;
  std::atomic<std::uint32_t> owners_{1};
};

}  // namespace hvd::autograd
