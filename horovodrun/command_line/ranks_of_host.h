// SPDX-License-Identifier: Apache-2.0
// The values of --nproc-per-node.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher {

// The number of ranks that words such as `auto` stand for on this host.
struct Processors {
  int cores = 1;
  int gpus = 0;
};

// The ranks of a host for "4", "cpu", "gpu" or "auto" (as many as GPUs, or as
// cores if there are none).
//   InvalidArgument   it is none of these, or there is no GPU
absl::StatusOr<int> ranks_of_host(const std::string& text,
                                  const Processors& processors);

}  // namespace hvd::launcher
