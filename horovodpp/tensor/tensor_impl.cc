// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/tensor_impl.h"

namespace hvd::autograd {

bool TensorImpl::try_retain() {
  std::uint64_t counts = counts_.load(std::memory_order_relaxed);
  while (counts % kWeak != 0) {
    if (counts_.compare_exchange_weak(counts, counts + kStrong,
                                      std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

void TensorImpl::drop_contents() {
  meta.reset();
  storage = nullptr;
}

}  // namespace hvd::autograd
