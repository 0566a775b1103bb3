// SPDX-License-Identifier: Apache-2.0
// What goes on on a GPU after a call has returned, as streams see it.
#pragma once

#include "horovodpp/core/outcome.h"

namespace hvd {

class Enqueued {
 public:
  virtual ~Enqueued() = default;

  // What is put into `stream` (a cudaStream_t) from now on comes after it. Any
  // thread.
  //   (errors)  CUDA's
  virtual Status order(void* stream) const = 0;

  // Whether it is recorded into a graph, and done when that is launched: then streams
  // come behind it though nothing is under way here.
  virtual bool is_captured() const { return false; }
};

}  // namespace hvd
