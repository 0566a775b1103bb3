// SPDX-License-Identifier: Apache-2.0
// The timelines of one job, where horovodrun writes some: rank 0 writes `path`,
// and the others "<path>.rank1", ..., each rank on its own host. At the job's
// end they become one file on this host.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/timeline/part_fetch.h"

namespace hvd::launcher {

class JobTimelines {
 public:
  // `path`: HOROVOD_TIMELINE; "": none. Removes the parts of an earlier job.
  JobTimelines(std::string path, int ranks);

  // Whether ranks write parts to be merged.
  bool has_parts() const;

  // The hosts of the job, and the way there.
  struct Hosts {
    std::vector<std::string> of_ranks{};  // By rank; "": unknown.
    std::string own_name{};               // This host's.
    std::vector<std::string> shell{};     // Empty: there is no way.
    std::string program{};                // horovodrun's path on all hosts.
    Environment environment{};            // Of the shell.
  };
  // At the end of the job: fetches the parts that are on other hosts only,
  // merges all into `path`, and removes them. Returns lines for the user.
  std::vector<std::string> merge(const Hosts& hosts) const;

 private:
  std::map<int, std::string> files_here() const;
  PartFetchResult fetch(const Hosts& hosts,
                        const std::map<int, std::string>& here) const;
  std::vector<std::string> missing(const std::map<int, std::string>& files,
                                   const PartFetchResult& fetched,
                                   const Hosts& hosts) const;

  const std::string path_;
  const std::string absolute_path_;
  const int ranks_;
  const Clock::TimePoint began_ = Clock::steady().now();
  // Otherwise rank 0 is on another host, and the file of an earlier job.
  std::filesystem::file_time_type written_before_{};
};

}  // namespace hvd::launcher
