// SPDX-License-Identifier: Apache-2.0
// The operations that a run of a checkpointed function recorded, in order, for
// the error that has to tell how two runs differ.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class OperationLog {
 public:
  // Remembers also who called. `operation` lives for ever.
  void add(const char* operation);
  bool empty() const { return entries_.empty(); }
  // A line for each operation, and below it the calls that led to it.
  std::string to_string() const;

 private:
  struct Entry {
    const char* operation;
    std::vector<void*> calls;
  };
  std::vector<Entry> entries_;
};

}  // namespace autograd
}  // namespace hvd
