// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/leftovers.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hvd::launcher {
namespace {

// The end of the name vader_segment.<host>.<user>.<job, hexadecimal>.<rank on
// the node>, or an empty string.
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

// ompi.<host>.<user>, the parent folder of all jobs on the host.
bool is_folder_of_all(const std::string& name) {
  return absl::StartsWith(name, "ompi.") &&
         absl::EndsWith(name, absl::StrCat(".", geteuid()));
}

void remove_session(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  rmdir(folder.parent_path().c_str());  // Fails if other jobs use it.
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

void remove_mpirun_leftovers(pid_t mpirun, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry(directory, error), end;
       !error && entry != end; entry.increment(error)) {
    if (is_folder_of_all(entry->path().filename().string())) {
      folders.push_back(entry->path());
    }
  }
  for (const fs::path& folder : folders) {
    remove_session(folder / absl::StrCat("pid.", mpirun));
  }
}

void remove_daemon_leftovers(const Environment& environment) {
  // .../ompi.<host>.<user>/<session>/<job>/<rank>
  const auto found = environment.find("OMPI_FILE_LOCATION");
  if (found == environment.end()) return;
  const std::filesystem::path session =
      std::filesystem::path(found->second).parent_path().parent_path();
  const std::string name = session.filename().string();
  if (!is_folder_of_all(session.parent_path().filename().string()) ||
      (!absl::StartsWith(name, "pid.") && !absl::StartsWith(name, "jf."))) {
    return;
  }
  remove_session(session);
  // The node keeper's folder, in case that it was killed, too.
  const std::filesystem::path folder = session.parent_path().parent_path();
  if (absl::StartsWith(folder.filename().string(), kKeeperFolder)) {
    rmdir(folder.c_str());
  }
}

std::string mpirun_directory(const Environment& environment) {
  for (const char* name :
       {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"}) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) {
      return found->second;
    }
  }
  return "/tmp";
}

}  // namespace hvd::launcher
