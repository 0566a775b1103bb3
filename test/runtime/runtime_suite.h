// SPDX-License-Identifier: Apache-2.0
// The conformance suite of Runtime, for a job that is already running.
// runtime_test.cc runs it on threads and runtime_mpi_test.cc on processes.
// Every rank runs each case.
#pragma once

#include <vector>

#include "test/runtime/suite_adasum.h"
#include "test/runtime/suite_arena.h"
#include "test/runtime/suite_collectives.h"
#include "test/runtime/suite_groups.h"
#include "test/runtime/suite_join.h"
#include "test/runtime/suite_messages.h"
#include "test/runtime/suite_names.h"
#include "test/runtime/suite_prepared.h"
#include "test/runtime/suite_process_sets.h"
#include "test/runtime/suite_rooted.h"

namespace hvd::suite {

inline std::vector<Case> all_cases() {
  std::vector<Case> all;
  const auto add = [&](const auto& cases) {
    all.insert(all.end(), std::begin(cases), std::end(cases));
  };
  add(kCollectiveCases);
  add(kGroupCases);
  add(kProcessSetCases);
  add(kJoinCases);
  add(kNameCases);
  add(kPreparedCases);
  add(kAdasumCases);
  add(kArenaCases);
  add(kRootedCases);
  add(kMessageCases);
  return all;
}

}  // namespace hvd::suite
