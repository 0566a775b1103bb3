// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/job_record.h"

#include <cstddef>

namespace hvd::launcher {

int rank_named(const JobRecord& job, const RankStatus::Named& named, int by) {
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankRecord& rank = job.ranks[i];
    const bool told = rank.news && rank.news->pid == named.pid &&
                      rank.news->host == named.host;
    const bool is_command = rank.ended && rank.ended->pid == named.pid &&
                            rank.ended->host == named.host;
    if (told || is_command) return static_cast<int>(i);
  }
  // A rank that has not re-formed numbers ranks as the launcher does.
  const bool same_numbers =
      !job.ranks[static_cast<std::size_t>(by)].has_reformed;
  const bool exists = named.rank >= 0 &&
                      static_cast<std::size_t>(named.rank) < job.ranks.size();
  return same_numbers && exists ? named.rank : -1;
}

}  // namespace hvd::launcher
