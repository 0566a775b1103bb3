// SPDX-License-Identifier: Apache-2.0
// A MemoryWatch finds what takes the memory of a training step:
//
//   hvd::MemoryWatch watch(model, &optimizer);
//   ...                                    // One or more steps.
//   std::puts(watch.report().text().c_str());
//
// It follows all tensors of the process that the CPU allocator holds, while it
// lives. Operations then take longer. One may exist at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/tensor/base/memory_ledger.h"

namespace HVD_EXPORT hvd {
namespace optim {

// The memory of the moment at which tensors took the most.
struct MemoryReport {
  struct Holder {
    std::string category;
    std::string name;  // "gradient of fc1.weight"
    std::int64_t bytes = 0;
  };

  std::int64_t peak_bytes = 0;
  double after_ms = 0;     // Since the watch began.
  std::string phase = {};  // See MemoryWatch::phase().
  // "parameters", "buffers", "gradients", "optimizer state", "saved for
  // backward", "other tensors", "tensors from before": all of them, in this
  // order.
  std::vector<std::pair<std::string, std::int64_t>> categories = {};
  std::vector<Holder> largest = {};  // At most ten, the largest first.

  // Several lines, without a newline at the end.
  std::string text() const;
};

class MemoryWatch {
 public:
  // Of the memory of tensors on `device`. `optimizer` may be null. Both outlive
  // the watch.
  //   hvd::Error (FailedPrecondition)  there is another watch
  explicit MemoryWatch(const nn::Module& model,
                       const Optimizer* optimizer = nullptr,
                       Device device = Device::cpu());

  // A name for what the program does from here on, "forward", for the report.
  void phase(const std::string& name) { ledger_.set_phase(name); }

  // The peak so far.
  MemoryReport report();

 private:
  const nn::Module& model_;
  const Optimizer* const optimizer_;
  const std::chrono::steady_clock::time_point began_;
  autograd::MemoryLedger ledger_;
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::MemoryReport;
using optim::MemoryWatch;
}  // namespace hvd
