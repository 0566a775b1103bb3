// SPDX-License-Identifier: Apache-2.0
// While a SaveOnCpu lives, what operations on this thread save for backward
// moves out of the device's memory into the host's, and comes back when backward
// needs it:
//
//   {
//     hvd::autograd::SaveOnCpu on_cpu;
//     loss = model(images);
//   }
//   loss.backward();
//
// Leaves (parameters, mostly) stay where they are: somebody owns them anyway.
#pragma once

#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class SaveOnCpu {
 public:
  // `host` gives the memory to save in, and outlives what is saved; by default
  // it is the process's host memory, which counts apart from tensors.
  explicit SaveOnCpu(Allocator& host = host_allocator());

 private:
  SavedTensorHooks::Scope scope_;
};

}  // namespace autograd
}  // namespace hvd
