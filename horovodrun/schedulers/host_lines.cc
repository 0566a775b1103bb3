// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/host_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodrun/system/text_file.h"

namespace hvd::launcher {

absl::Status unreadable_hosts(const std::string& source,
                              const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat(
      source, " ", problem, "; name the hosts by -H or --hostfile"));
}

void add_slots(std::vector<Host>& hosts, const std::string& name, int slots) {
  const auto known =
      std::find_if(hosts.begin(), hosts.end(),
                   [&](const Host& host) { return host.name == name; });
  if (known == hosts.end()) {
    hosts.push_back({name, slots});
  } else {
    known->slots += slots;
  }
}

absl::StatusOr<std::vector<Host>> hosts_by_lines(const std::string& source,
                                                 const std::string& path) {
  const absl::StatusOr<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return unreadable_hosts(
        absl::StrCat(source, " (", path, ")"),
        absl::StrCat("cannot be read: ", text.status().message()));
  }
  std::vector<Host> hosts;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (!is_host_name(line)) {
      return unreadable_hosts(
          absl::StrCat(source, " (", path, ")"),
          absl::StrCat("has the line '", line, "', which names no host"));
    }
    add_slots(hosts, std::string(line), 1);
  }
  if (hosts.empty()) {
    return unreadable_hosts(absl::StrCat(source, " (", path, ")"),
                            "names no host");
  }
  return hosts;
}

}  // namespace hvd::launcher
