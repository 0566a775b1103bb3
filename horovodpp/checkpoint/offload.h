// SPDX-License-Identifier: Apache-2.0
// While an Offload lives, what operations on this thread save for backward is
// moved to a pool, and comes back when backward needs it:
//
//   hvd::OffloadPool pool({.bytes = std::int64_t{8} << 30});
//   {
//     hvd::Offload offload(pool);
//     for (auto& block : blocks) x = hvd::nn::checkpoint(*block)(x);
//     loss = head(x);
//   }
//   loss.backward();
//
// It goes with checkpointed functions: what these keep, their inputs, is moved as
// well. Within one the innermost scope counts, an Offload or the function; what
// results of operations a function moves says its policy (policy.h). Left where
// they are: leaves that require grad, which somebody owns anyway, and what is
// smaller than the options say. A tensor that is still alive when backward needs
// it is not fetched.
#pragma once

#include <cstdint>

#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/checkpoint/offload_pool.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/intrusive_ptr.h"

namespace HVD_EXPORT hvd {

namespace autograd {
class OffloadKeeper;
}

struct OffloadOptions {
  // Tensors of fewer bytes stay.
  std::int64_t least_bytes = 0;
  // Whether what does not fit into the pool is an error; otherwise it stays.
  bool must_fit = true;
};

class Offload {
 public:
  // `pool` outlives the scope. In the scope, an operation throws
  //   hvd::Error (ResourceExhausted)  the pool is full (see OffloadOptions)
  //   InvalidArgument                 least_bytes is negative (here)
  explicit Offload(OffloadPool& pool = OffloadPool::of_process(),
                   const OffloadOptions& options = {});
  ~Offload();
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

 private:
  autograd::Ref<autograd::OffloadKeeper> keeper_;
  autograd::SavedTensorKeeper::Scope scope_;
};

}  // namespace hvd
