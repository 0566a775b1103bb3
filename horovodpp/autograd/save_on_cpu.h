// SPDX-License-Identifier: Apache-2.0
// SaveOnCpu keeps saved tensors in host memory. While one lives, tensors that
// operations on this thread save for backward move from device memory to host
// memory. Backward copies them back when it needs them:
//
//   {
//     hvd::autograd::SaveOnCpu on_cpu;
//     loss = model(images);
//   }
//   loss.backward();
//
// Leaves (mostly parameters) stay where they are: they have another owner.
#pragma once

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class SaveOnCpu {
 public:
  // `host` allocates the memory, and outlives the saved tensors. Default: the
  // process's host memory, which counts apart from tensors.
  explicit SaveOnCpu(Allocator& host = host_allocator());

 private:
  SavedTensorHooks::Scope scope_;
};

}  // namespace autograd
}  // namespace hvd
