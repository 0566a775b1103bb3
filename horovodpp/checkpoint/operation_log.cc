// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/operation_log.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/anomaly.h"

namespace hvd::autograd {

void OperationLog::add(const char* operation) {
  entries_.push_back({operation, calls_here()});
}

std::string OperationLog::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    absl::StrAppend(&text, i, ": ", entries_[i].operation, ", called\n",
                    describe_calls(entries_[i].calls), "\n");
  }
  return text;
}

}  // namespace hvd::autograd
