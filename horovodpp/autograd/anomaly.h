// SPDX-License-Identifier: Apache-2.0
// Finding where a wrong gradient comes from: while a DetectAnomaly lives, every
// operation recorded on this thread remembers the calls that led to it, and
// backward looks for NaN in what each node returns.
//
//   hvd::autograd::DetectAnomaly detect;
//   loss.backward();   // throws: "Function 'SqrtBackward' returned nan values in
//                      // its 0th output. It was recorded here: …"
//
// Slow; for debugging. Functions are named if the program exports them (link
// with -rdynamic); else module and address are given, which addr2line takes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class DetectAnomaly {
 public:
  // `check_nan`: whether backward looks for NaN, or only tells from which node
  // an exception comes.
  explicit DetectAnomaly(bool check_nan = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool outer_;
  bool outer_check_nan_;
};

// The calls that led to the operation of `node`, one a line; says so if they
// are not known. If it was recorded during a backward: also those of the node
// that ran then.
std::string forward_trace(const Node& node);

// The calls that led here, and a line for each of them.
std::vector<void*> calls_here();
std::string describe_calls(const std::vector<void*>& calls);

// --- For the engine ---
// Calls node.apply(); a failure is told of with the node's trace (warn()) and
// passed on; a NaN among the results is an AutogradError.
void apply_watched(Node& node, std::span<Tensor> gradients,
                   std::span<Tensor> results);

}  // namespace autograd
}  // namespace hvd
