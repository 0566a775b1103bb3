// SPDX-License-Identifier: Apache-2.0
// A Verdict on an ended job: horovodrun's exit code and its last line. Both
// describe the cause, if there is one, and not the rank whose end was seen
// first, which may have ended because of another.
//
// The cause is a rank that failed by itself: mpirun was not ending it, it had
// not reported that the job broke because of others, and the others do not go
// on without it. Among several causes, ranks that others blame come first, then
// the earliest end. Without such a rank the cause is, in this order: a rank
// that others blame although it has not failed, mpirun, or the first failed
// rank among those that followed.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

struct Verdict {
  int exit_code = 0;
  std::string line{};  // Without newline; empty: no message.
  // A new start of the job would not help: the user has ended it, or output is
  // lost.
  bool is_final = false;
  int rank = -1;       // That the line names as the cause; -1: none.
  std::string work{};  // "rank 3 was in …": that rank's last; may be empty.
  // The last lines of the rank's standard error, unless they are shown directly
  // above.
  std::vector<std::string> last_lines{};
  // Of each rank, as the user named it; "": unknown.
  std::vector<std::string> hosts{};
};

// Call it after mpirun has ended. `program` is the ranks' program.
Verdict judge(const JobRecord& job, const std::string& program);

}  // namespace hvd::launcher
