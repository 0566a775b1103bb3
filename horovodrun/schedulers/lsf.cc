// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/lsf.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodrun/schedulers/host_lines.h"

namespace hvd::launcher {
namespace {

constexpr char kLsfPairs[] = "LSB_MCPU_HOSTS";
constexpr char kLsfFile[] = "LSB_DJOB_HOSTFILE";

absl::StatusOr<std::vector<Host>> hosts_by_pairs(const std::string& text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    int slots = 0;
    if (i + 1 == words.size() || !is_host_name(words[i]) ||
        !parse_slots(words[i + 1], &slots)) {
      return unreadable_hosts(
          absl::StrCat(kLsfPairs, "='", text, "'"),
          "is not a list of hosts with their slots, as in 'hostA 2 hostB 4'");
    }
    add_slots(hosts, std::string(words[i]), slots);
  }
  return hosts;
}

}  // namespace

absl::StatusOr<std::vector<Host>> lsf_hosts(const Environment& environment) {
  const std::string pairs = value_in(environment, kLsfPairs);
  if (!pairs.empty()) return hosts_by_pairs(pairs);
  const std::string path = value_in(environment, kLsfFile);
  if (path.empty()) return std::vector<Host>();
  return hosts_by_lines(kLsfFile, path);
}

}  // namespace hvd::launcher
