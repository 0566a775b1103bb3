// SPDX-License-Identifier: Apache-2.0
// The conformance suite of collectives on tensors, for any wires. Every rank of
// the current job runs it: on threads by tensor_collectives_test.cc, on
// processes by tensor_collectives_mpi_test.cc.
#pragma once

#include <vector>

#include "test/distributed/suite_checkpoint.h"
#include "test/distributed/suite_gradients.h"
#include "test/distributed/suite_sync_batch_norm.h"
#include "test/distributed/suite_values.h"

namespace hvd::suite {

inline std::vector<TensorCase> all_tensor_cases() {
  std::vector<TensorCase> all;
  const auto add = [&](const auto& cases) {
    all.insert(all.end(), std::begin(cases), std::end(cases));
  };
  add(kValueCases);
  add(kGradientCases);
  add(kCheckpointCases);
  add(kSyncBatchNormCases);
  return all;
}

}  // namespace hvd::suite
