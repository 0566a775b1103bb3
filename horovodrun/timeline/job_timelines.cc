// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/job_timelines.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/preflight/own_host.h"
#include "horovodrun/timeline/merge_timelines.h"
#include "horovodrun/timeline/timeline_parts.h"

namespace hvd::launcher {
namespace {

// For the time until another host is asked, and for the clocks of files.
constexpr std::chrono::seconds kAgeMargin{10};
constexpr std::size_t kMostNamed = 4;  // Missing ranks.

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.string();
}

std::set<std::string> other_hosts(const JobTimelines::Hosts& hosts) {
  const std::set<std::string> names(hosts.of_ranks.begin(),
                                    hosts.of_ranks.end());
  std::set<std::string> others;
  const auto interfaces = own_facts().interfaces;
  for (const std::string& name : names) {
    if (!name.empty() && !is_own_host(name, hosts.own_name, interfaces)) {
      others.insert(name);
    }
  }
  return others;
}

}  // namespace

JobTimelines::JobTimelines(std::string path, int ranks)
    : path_(std::move(path)), absolute_path_(absolute(path_)), ranks_(ranks) {
  if (!has_parts()) return;
  std::error_code error;
  written_before_ = std::filesystem::last_write_time(path_, error);
  for (const auto& [rank, old] : parts_beside(path_)) {
    std::filesystem::remove(old, error);
  }
}

bool JobTimelines::has_parts() const {
  return !path_.empty() && ranks_ > 1 && !absl::StrContains(path_, "{rank}") &&
         !absl::EqualsIgnoreCase(path_, "dynamic");
}

std::map<int, std::string> JobTimelines::files_here() const {
  std::map<int, std::string> files = parts_beside(path_);
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path_, error);
  if (!error && written != written_before_) files[0] = path_;
  return files;
}

PartFetchResult JobTimelines::fetch(
    const Hosts& hosts, const std::map<int, std::string>& here) const {
  // Also those that joined an elastic job.
  const std::size_t ranks =
      std::max(hosts.of_ranks.size(), static_cast<std::size_t>(ranks_));
  if (hosts.shell.empty() || here.size() >= ranks) return {};
  const std::set<std::string> others = other_hosts(hosts);
  PartFetchOptions options = {.hosts = {others.begin(), others.end()},
                              .shell = hosts.shell,
                              .program = hosts.program,
                              .environment = hosts.environment};
  if (options.hosts.empty()) return {};
  options.request.path = absolute_path_;
  options.request.age =
      std::chrono::ceil<std::chrono::seconds>(Clock::steady().now() - began_) +
      kAgeMargin;
  for (const auto& [rank, file] : here) options.request.present.insert(rank);
  return fetch_parts(options);
}

std::vector<std::string> JobTimelines::merge(const Hosts& hosts) const {
  if (!has_parts()) return {};
  const PartFetchResult fetched = fetch(hosts, files_here());
  const std::map<int, std::string> files = files_here();
  if (files.empty() && fetched.problems.empty() && fetched.too_large.empty()) {
    return {};
  }
  if (files.empty()) return missing(files, fetched, hosts);
  std::vector<std::string> paths;
  for (const auto& [rank, file] : files) paths.push_back(file);
  const absl::Status merged = merge_timelines(paths, path_);
  if (!merged.ok()) {
    return {absl::StrCat("cannot merge the ranks' timelines, which stay in ",
                         path_, ".rank*: ", merged.message())};
  }
  std::error_code error;
  for (const std::string& file : paths) {
    if (file != path_) std::filesystem::remove(file, error);
  }
  return missing(files, fetched, hosts);
}

// One line that names the host and the file of each rank that is missing.
std::vector<std::string> JobTimelines::missing(
    const std::map<int, std::string>& files, const PartFetchResult& fetched,
    const Hosts& hosts) const {
  std::vector<std::string> named;
  std::size_t count = 0;
  const std::set<std::string> others = other_hosts(hosts);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (files.contains(rank) || ++count > kMostNamed) continue;
    const auto at = static_cast<std::size_t>(rank);
    const std::string host =
        at < hosts.of_ranks.size() ? hosts.of_ranks[at] : "";
    std::string why = "it is not there";
    if (hosts.shell.empty() && others.contains(host)) {
      why = "there is no remote shell to fetch it";
    }
    if (const auto large = fetched.too_large.find(rank);
        large != fetched.too_large.end()) {
      why = absl::StrCat("its ", large->second, " bytes are too many to fetch");
    } else if (const auto problem = fetched.problems.find(host);
               problem != fetched.problems.end()) {
      why = problem->second;
    }
    named.push_back(absl::StrCat(
        "rank ", rank, "'s ",
        rank == 0 ? absolute_path_ : part_name(absolute_path_, rank),
        host.empty() ? "" : absl::StrCat(" on host '", host, "'"), " (", why,
        ")"));
  }
  if (count == 0) return {};
  if (count > kMostNamed) {
    named.push_back(absl::StrCat(count - kMostNamed, " others"));
  }
  return {absl::StrCat(
      "the timeline ", path_, " has ", ranks_ - static_cast<int>(count), " of ",
      ranks_, " ranks. It lacks ", absl::StrJoin(named, ", "),
      ". Collect the files that exist, and run horovodrun --merge-timelines")};
}

}  // namespace hvd::launcher
