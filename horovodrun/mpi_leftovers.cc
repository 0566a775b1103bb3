#include "horovodrun/mpi_leftovers.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hvd::launcher {
namespace {

// vader_segment.<host>.<user>.<job, hexadecimal>.<rank on the node>: its end,
// or an empty string.
std::string segment_suffix(const Environment& environment) {
  const auto job = environment.find("OMPI_MCA_ess_base_jobid");
  const auto node_rank = environment.find("OMPI_COMM_WORLD_NODE_RANK");
  std::uint32_t job_id = 0;
  std::uint32_t rank = 0;
  if (job == environment.end() || node_rank == environment.end() ||
      !absl::SimpleAtoi(job->second, &job_id) ||
      !absl::SimpleAtoi(node_rank->second, &rank)) {
    return "";
  }
  return absl::StrFormat(".%u.%x.%u", geteuid(), job_id, rank);
}

}  // namespace

void remove_mpi_leftovers(const Environment& environment,
                          const std::string& directory) {
  const std::string suffix = segment_suffix(environment);
  if (suffix.empty()) return;
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return;
  std::vector<std::string> paths;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (absl::StartsWith(name, "vader_segment.") &&
        absl::EndsWith(name, suffix)) {
      paths.push_back(absl::StrCat(directory, "/", name));
    }
  }
  closedir(entries);
  for (const std::string& path : paths) unlink(path.c_str());
}

}  // namespace hvd::launcher
