// SPDX-License-Identifier: Apache-2.0
// The operations that a run of a checkpointed function recorded, in order. The
// error for two runs that differ prints them.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class OperationLog {
 public:
  // Records the call stack as well. `operation` has static lifetime.
  void add(const char* operation);
  bool empty() const { return entries_.empty(); }
  // One line per operation, followed by its call stack.
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
