// SPDX-License-Identifier: Apache-2.0
// The base of holders that hold one saved tensor in another form. A subclass
// implements restore().
#pragma once

#include <atomic>
#include <cstdint>

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class ExternalSavedTensor : public SavedTensorHolder {
 public:
  explicit ExternalSavedTensor(const Tensor& tensor) : original_(tensor) {}
  ExternalSavedTensor(const ExternalSavedTensor&) = delete;
  ExternalSavedTensor& operator=(const ExternalSavedTensor&) = delete;

  // Used to check the version while the original exists.
  Tensor original(std::uint32_t /*place*/) const final {
    return original_.lock();
  }
  // Freed with the last reference, which a running backward may hold.
  void forget(std::uint32_t /*place*/) final {}
  void retain() final { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() final {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~ExternalSavedTensor() = default;

 private:
  const WeakTensor original_;
  std::atomic<std::uint32_t> owners_{1};
};

}  // namespace hvd::autograd
