// SPDX-License-Identifier: Apache-2.0
// Fleets whose ranks are processes of a job without MPI. For *_job_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/job/start_up.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/communicator.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

// Connects the processes of the job: one rank if no launcher started the
// process. A test may call it repeatedly, equally often on all ranks.
inline absl::StatusOr<std::unique_ptr<transport::Communicator>>
meet_other_processes() {
  HVD_ASSIGN_OR_RETURN(const Config config, Config::from_env());
  return runtime::make_communicator(config);
}

}  // namespace hvd::collective
