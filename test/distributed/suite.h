// SPDX-License-Identifier: Apache-2.0
// What collectives on tensors keep, whatever the job's wires: run by every rank of a
// job that is the current one. Over threads by tensor_collectives_test.cc, over
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
