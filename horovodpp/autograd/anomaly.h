// SPDX-License-Identifier: Apache-2.0
// Anomaly detection finds the source of a wrong gradient. While a DetectAnomaly
// lives, every operation recorded on this thread keeps its call stack, and
// backward checks the results of each node for NaN.
//
//   hvd::autograd::DetectAnomaly detect;
//   loss.backward();   // throws: "Function 'SqrtBackward' returned nan values in
//                      // its 0th output. It was recorded here: …"
//
// Slow; for debugging. Function names appear if the program exports them (link
// with -rdynamic). Otherwise the trace gives module and address, for addr2line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class DetectAnomaly {
 public:
  // `check_nan`: whether backward checks for NaN. Without it, exceptions still
  // get the trace of their node.
  explicit DetectAnomaly(bool check_nan = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool outer_;
  bool outer_check_nan_;
};

// The call stack that recorded `node`, one call a line, or a note that the
// stack is unknown. If `node` was recorded during a backward, the stack of the
// node that ran then follows.
std::string forward_trace(const Node& node);

// The current call stack, and its text with one call a line.
std::vector<void*> calls_here();
std::string describe_calls(const std::vector<void*>& calls);

// --- For the engine ---
// Calls node.apply(). On an exception, reports the node's trace with warn(),
// and rethrows. A NaN in the results is an AutogradError.
void apply_watched(Node& node, std::span<Tensor> gradients,
                   std::span<Tensor> results);

}  // namespace autograd
}  // namespace hvd
