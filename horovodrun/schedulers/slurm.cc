// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/slurm.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/status.h"
#include "horovodrun/schedulers/host_lines.h"

namespace hvd::launcher {
namespace {

// Of one list; Slurm has fewer.
constexpr std::size_t kMaxNodes = 1 << 16;
// Characters of a name, and digits of a number in it: each may occur in all
// names of a list.
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxDigits = 20;

absl::Status not_nodes(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a list of nodes, as in n[1-3],login"));
}

bool parse_number(absl::string_view text, int* number) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(
             text.begin(), text.end(),
             [](char c) {
               return absl::ascii_isdigit(static_cast<unsigned char>(c));
             }) &&
         absl::SimpleAtoi(text, number);
}

// Appends "1-3,07" as 1, 2, 3, 07. A number has the width of the first one of
// its range.
bool append_range(absl::string_view text, std::vector<std::string>& numbers) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0;
    int last = 0;
    if (!parse_number(ends.first, &first)) return false;
    const bool is_range = ends.first.size() < part.size();
    if (!is_range) last = first;
    if (is_range && !parse_number(ends.second, &last)) return false;
    if (last < first ||
        static_cast<std::size_t>(last - first) + numbers.size() >= kMaxNodes) {
      return false;
    }
    const int width = static_cast<int>(ends.first.size());
    for (int number = first; number <= last; ++number) {
      numbers.push_back(absl::StrFormat("%0*d", width, number));
    }
  }
  return true;
}

// The names of one entry, such as rack[0-1]n[1-2]. False if it is none.
bool append_entry(absl::string_view entry, std::vector<std::string>& names) {
  std::vector<std::string> so_far = {""};
  while (!entry.empty()) {
    const std::size_t open = entry.find('[');
    const absl::string_view fixed = entry.substr(0, open);
    std::vector<std::string> numbers = {""};
    entry.remove_prefix(fixed.size());
    if (!entry.empty()) {
      const std::size_t close = entry.find(']');
      if (close == absl::string_view::npos) return false;
      numbers.clear();
      if (!append_range(entry.substr(1, close - 1), numbers)) return false;
      entry.remove_prefix(close + 1);
    }
    if (so_far.size() * numbers.size() > kMaxNodes ||
        so_far[0].size() + fixed.size() > kMaxName) {
      return false;
    }
    std::vector<std::string> longer;
    for (const std::string& name : so_far) {
      for (const std::string& number : numbers) {
        longer.push_back(absl::StrCat(name, fixed, number));
      }
    }
    so_far = std::move(longer);
  }
  if (names.size() + so_far.size() > kMaxNodes) return false;
  for (std::string& name : so_far) {
    if (!is_host_name(name)) return false;
    names.push_back(std::move(name));
  }
  return true;
}

// An entry ends at a comma outside of brackets.
std::vector<absl::string_view> split_entries(absl::string_view text) {
  std::vector<absl::string_view> entries;
  std::size_t begin = 0;
  bool in_brackets = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') in_brackets = true;
    if (text[i] == ']') in_brackets = false;
    if (text[i] != ',' || in_brackets) continue;
    entries.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  entries.push_back(text.substr(begin));
  return entries;
}

// The hosts of two variables; empty if their lengths differ.
absl::StatusOr<std::vector<Host>> read_pair(const Environment& environment,
                                            const char* nodes_name,
                                            const char* counts_name) {
  const auto explained = [](const char* name, const absl::Status& status) {
    return unreadable_hosts(absl::StrCat(name, ":"),
                            std::string(status.message()));
  };
  const absl::StatusOr<std::vector<std::string>> nodes =
      expand_nodes(value_in(environment, nodes_name));
  if (!nodes.ok()) return explained(nodes_name, nodes.status());
  const absl::StatusOr<std::vector<int>> counts =
      expand_counts(value_in(environment, counts_name));
  if (!counts.ok()) return explained(counts_name, counts.status());
  std::vector<Host> hosts;
  if (nodes->size() != counts->size()) return hosts;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    add_slots(hosts, (*nodes)[i], (*counts)[i]);
  }
  return hosts;
}

// The one host of an allocation may have another name than its node.
void use_own_name(std::vector<Host>& hosts, const Environment& environment) {
  if (hosts.size() == 1 &&
      hosts[0].name == value_in(environment, "SLURMD_NODENAME")) {
    hosts[0].name = "localhost";
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> expand_nodes(const std::string& text) {
  std::vector<std::string> names;
  for (const absl::string_view entry : split_entries(text)) {
    if (!append_entry(entry, names)) return not_nodes(text);
  }
  return names;
}

absl::StatusOr<std::vector<int>> expand_counts(const std::string& text) {
  std::vector<int> counts;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('(', 1));
    int count = 0;
    int times = 1;
    const bool repeats = parts.first.size() < entry.size();
    if (!parse_slots(parts.first, &count) ||
        (repeats && (!absl::ConsumePrefix(&parts.second, "x") ||
                     !absl::ConsumeSuffix(&parts.second, ")") ||
                     !parse_slots(parts.second, &times))) ||
        counts.size() + static_cast<std::size_t>(times) > kMaxNodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text, "' is not a list of tasks for each node, as in 2(x3),1"));
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
  }
  return counts;
}

absl::StatusOr<std::vector<Host>> slurm_hosts(const Environment& environment) {
  constexpr char kNodes[] = "SLURM_JOB_NODELIST";
  constexpr char kCounts[] = "SLURM_TASKS_PER_NODE";
  if (value_in(environment, kNodes).empty() ||
      value_in(environment, kCounts).empty()) {
    return std::vector<Host>();
  }
  if (number_in(environment, {"SLURM_HET_SIZE"}, 1) > 1) {
    return absl::FailedPreconditionError(
        "this job of Slurm is heterogeneous, and its parts have lists of nodes "
        "of their own; name the hosts by -H or --hostfile");
  }
  const int tasks = number_in(environment, {"SLURM_STEP_NUM_TASKS"}, 1);
  if (tasks > 1 && value_in(environment, "SLURM_PTY_PORT").empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "srun started horovodrun as ", tasks,
        " tasks, each of which would start all ranks; start it once (in the "
        "script of sbatch, or by srun -n 1), start the program itself by srun, "
        "or name hosts (-H localhost:2) for a job of each task"));
  }
  HVD_ASSIGN_OR_RETURN(std::vector<Host> hosts,
                       read_pair(environment, kNodes, kCounts));
  if (hosts.empty() &&
      !value_in(environment, "SLURM_STEP_TASKS_PER_NODE").empty()) {
    HVD_ASSIGN_OR_RETURN(hosts, read_pair(environment, "SLURM_STEP_NODELIST",
                                          "SLURM_STEP_TASKS_PER_NODE"));
  }
  if (hosts.empty()) {
    return unreadable_hosts(absl::StrCat(kNodes, " and ", kCounts),
                            "name different numbers of nodes");
  }
  use_own_name(hosts, environment);
  return hosts;
}

}  // namespace hvd::launcher
