// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/discovery/discovered_hosts.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {
namespace {

// Whether `text` is a number of slots, 0 included.
bool parse_slots_or_none(absl::string_view text, int* slots) {
  if (parse_slots(text, slots)) return true;
  *slots = 0;
  return text == "0";
}

}  // namespace

absl::StatusOr<std::vector<Host>> parse_discovered(const std::string& text,
                                                   int slots_per_host) {
  std::vector<Host> hosts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    Host host{std::string(line.substr(0, colon)), slots_per_host};
    const bool has_slots = colon != absl::string_view::npos;
    if (!is_host_name(host.name) ||
        (has_slots &&
         !parse_slots_or_none(line.substr(colon + 1), &host.slots))) {
      return absl::InvalidArgumentError(
          absl::StrCat("it printed '", line.substr(0, 80),
                       "', which is no line like worker-0 or worker-0:2"));
    }
    const auto known =
        std::find_if(hosts.begin(), hosts.end(),
                     [&](const Host& one) { return one.name == host.name; });
    if (known != hosts.end()) {
      known->slots = host.slots;
    } else {
      hosts.push_back(std::move(host));
    }
  }
  std::erase_if(hosts, [](const Host& host) { return host.slots == 0; });
  return hosts;
}

}  // namespace hvd::launcher
