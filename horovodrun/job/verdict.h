// SPDX-License-Identifier: Apache-2.0
// The Verdict on a job that is over: the exit code of horovodrun and its last
// line. Both are those of the cause, where there is one: not of the rank that
// was seen to end first, which may have ended because of another.
//
// Who is the cause? A rank that failed of itself: mpirun was not ending it, it
// had not told that the job broke because of others, and the others do not go on
// without it. Among several whom others blame comes first, and then who ended
// first. If there is none, whom the others blame although it has not failed;
// then mpirun; then who failed first of those that followed.
#pragma once

#include <string>

#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

struct Verdict {
  int exit_code = 0;
  std::string line{};  // Without newline; empty: nothing to say.
};

// To be asked after mpirun has ended. `program` is what the ranks ran.
Verdict judge(const JobRecord& job, const std::string& program);

}  // namespace hvd::launcher
