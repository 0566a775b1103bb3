// SPDX-License-Identifier: Apache-2.0
// The state of a job, as far as its record (job_record.h) tells.
#pragma once

#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

// A failure that stands: the others have not gone on without the rank.
bool is_open_failure(const RankRecord& rank);
bool any_failure(const JobRecord& job);
// Without newcomers.
bool all_have_started(const JobRecord& job);
// All ranks have ended, except those on silent hosts. A host counts as silent if
// an ended rank reported it so; the ends of its ranks will never be reported.
bool all_have_ended(const JobRecord& job);
// A rank waits in MPI for a rank that has ended before it came there.
bool waits_forever(const JobRecord& job);
// The rank has reported that the job broke, and blames no rank but others.
bool blames_others(const JobRecord& job, int rank);
// Ended ranks blame all ranks that are left, and those blame no other. A blamed
// rank that blames another may have work to finish.
bool only_blamed_are_left(const JobRecord& job);

// Of elastic jobs:

// Every rank of the start has entered the job.
bool has_begun(const JobRecord& job);
// Its ranks have begun to end well.
bool is_finishing(const JobRecord& job);

}  // namespace hvd::launcher
