// SPDX-License-Identifier: Apache-2.0
// Fleets whose ranks are the processes of a job that needs no MPI. For *_job_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/runtime/start_up.h"
#include "horovodpp/transport/communicator.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

// As often as a test wants to: on all ranks alike. One, where nothing started any.
inline absl::StatusOr<std::unique_ptr<transport::Communicator>>
meet_other_processes() {
  HVD_ASSIGN_OR_RETURN(const Config config, Config::from_env());
  return runtime::make_communicator(config);
}

}  // namespace hvd::collective
