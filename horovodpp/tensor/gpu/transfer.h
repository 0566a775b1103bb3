// SPDX-License-Identifier: Apache-2.0
// Copies of bytes from and to GPUs, in the order of this thread's streams
// (tensor/base/stream_scope.h).
#pragma once

#include <cstddef>

#include "horovodpp/core/device.h"

namespace hvd::autograd {

// An address on a device.
struct Place {
  void* address = nullptr;
  Device device = {};
};

// At least one place is on a GPU. Returns when the copy is done, unless it is
// between GPUs, or is `non_blocking` and from or to pinned memory.
void transfer(const Place& to, const Place& from, std::size_t bytes,
              bool non_blocking = false);

}  // namespace hvd::autograd
