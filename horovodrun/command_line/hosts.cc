// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/hosts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {
namespace {

constexpr int kMaxSlots = 1 << 20;

absl::StatusOr<Host> parse_hostfile_line(absl::string_view line, int number) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  Host host{std::string(fields[0]), 1};
  if (!is_host_name(host.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hostfile line ", number, ": '", host.name,
                     "' is not a host name; write lines like 'worker-0 "
                     "slots=2'"));
  }
  for (absl::string_view field : fields) {
    if (!absl::ConsumePrefix(&field, "slots=")) continue;
    if (!parse_slots(field, &host.slots)) {
      return absl::InvalidArgumentError(
          absl::StrCat("hostfile line ", number, ": '", field,
                       "' is not a number of slots; write lines like 'worker-0 "
                       "slots=2'"));
    }
  }
  return host;
}

}  // namespace

bool is_host_name(absl::string_view name) {
  return !name.empty() && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '_' || c == '.' || c == '-';
         });
}

bool parse_slots(absl::string_view text, int* slots) {
  return absl::SimpleAtoi(text, slots) && *slots >= 1 && *slots <= kMaxSlots;
}

absl::StatusOr<std::vector<Host>> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  for (absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits(':', 1));
    Host host{std::string(parts.first), 0};
    if (!is_host_name(host.name) || !parse_slots(parts.second, &host.slots)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "invalid host '", entry,
          "'; write name:slots with at least one slot, separated by commas, as "
          "in worker-0:2,worker-1:2"));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

absl::StatusOr<std::vector<Host>> parse_hostfile(const std::string& text) {
  std::vector<Host> hosts;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    HVD_ASSIGN_OR_RETURN(Host host, parse_hostfile_line(line, number));
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) {
    return absl::InvalidArgumentError(
        "the hostfile names no host; write lines like 'worker-0 slots=2'");
  }
  return hosts;
}

absl::StatusOr<std::vector<Host>> fill_hosts(const std::vector<Host>& hosts,
                                             int ranks) {
  std::vector<Host> used;
  int left = ranks;
  for (const Host& host : hosts) {
    if (left == 0) break;
    used.push_back({host.name, std::min(left, host.slots)});
    left -= used.back().slots;
  }
  if (left > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("requested more processes (", ranks,
                     ") than there are available slots (", ranks - left,
                     "); name more hosts, give them more slots, or lower -np"));
  }
  return used;
}

int slots_of(const std::vector<Host>& hosts) {
  std::int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return static_cast<int>(
      std::min<std::int64_t>(slots, std::numeric_limits<int>::max()));
}

bool all_local(const std::vector<Host>& hosts, const std::string& own_name) {
  const std::string short_name = own_name.substr(0, own_name.find('.'));
  return std::all_of(hosts.begin(), hosts.end(), [&](const Host& host) {
    return host.name == "localhost" || absl::StartsWith(host.name, "127.") ||
           host.name == own_name || host.name == short_name;
  });
}

}  // namespace hvd::launcher
