// SPDX-License-Identifier: Apache-2.0
// Enqueued is work that continues on a GPU after a call has returned.
#pragma once

#include "horovodpp/core/outcome.h"

namespace hvd {

class Enqueued {
 public:
  virtual ~Enqueued() = default;

  // Orders later work in `stream` (a cudaStream_t) after this work. Any thread.
  //   (errors)  CUDA's
  virtual Status order(void* stream) const = 0;

  // Whether the work is recorded into a graph and runs when the graph is
  // launched. Then order() applies even after the operation is complete here.
  virtual bool is_captured() const { return false; }
};

}  // namespace hvd
