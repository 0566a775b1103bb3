// SPDX-License-Identifier: Apache-2.0
// Offload moves saved tensors to a pool. While one lives, tensors that
// operations on this thread save for backward move to the pool. They come back
// when backward needs them:
//
//   hvd::OffloadPool pool({.bytes = std::int64_t{8} << 30});
//   {
//     hvd::Offload offload(pool);
//     for (auto& block : blocks) x = hvd::nn::checkpoint(*block)(x);
//     loss = head(x);
//   }
//   loss.backward();
//
// Offload works with checkpointed functions: their kept inputs are moved as
// well. Within a checkpointed function the innermost scope applies, an Offload
// or the function. The function's policy (policy.h) decides which results it
// moves.
//
// Leaves that require grad stay, since they have another owner, as do tensors
// smaller than the options say. A tensor that is still alive when backward
// needs it is not fetched.
#pragma once

#include <cstdint>

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/checkpoint/policies/offload_pool.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"

namespace HVD_EXPORT hvd {

namespace autograd {
class OffloadStore;
}

struct OffloadOptions {
  // Smaller tensors stay.
  std::int64_t least_bytes = 0;
  // Whether a full pool is an error; otherwise the tensor stays.
  bool must_fit = true;
};

class Offload {
 public:
  // `pool` outlives the scope. In the scope, an operation throws
  //   hvd::Error (ResourceExhausted)  the pool is full (see OffloadOptions)
  // The constructor throws
  //   InvalidArgument                 least_bytes is negative
  explicit Offload(OffloadPool& pool = OffloadPool::of_process(),
                   const OffloadOptions& options = {});
  ~Offload();
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

 private:
  autograd::Ref<autograd::OffloadStore> store_;
  autograd::SavedTensorStore::Scope scope_;
};

}  // namespace hvd
