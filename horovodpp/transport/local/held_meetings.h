// SPDX-License-Identifier: Apache-2.0
// The number of each meeting of a job. Ranks that shut down and start again
// meet anew, and never mix with ranks of an earlier meeting.
//
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hvd::transport {

// How often rank `rank` of this process has met the others of `job`.
//   FailedPrecondition  this process was forked from the process that did
absl::StatusOr<int> next_meeting(const std::string& job, int rank);
void meeting_was_held(const std::string& job, int rank);

}  // namespace hvd::transport
