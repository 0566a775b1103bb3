// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/checksum.h"

#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::optim {
std::uint64_t checksum(const Tensor& tensor) {
  NoGrad no_grad;
  const Tensor elements = tensor.contiguous();
  std::uint64_t result = checksum(elements.raw_data(), elements.bytes());
  result = combined(result, static_cast<std::uint64_t>(elements.dtype()));
  for (const std::int64_t size : elements.shape()) {
    result = combined(result, static_cast<std::uint64_t>(size));
  }
  return result;
}

}  // namespace hvd::optim
