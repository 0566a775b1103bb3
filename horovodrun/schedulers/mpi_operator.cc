// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/mpi_operator.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/status.h"
#include "horovodrun/schedulers/host_lines.h"
#include "horovodrun/system/text_file.h"

namespace hvd::launcher {
namespace {

// Set in every container.
constexpr char kKubernetes[] = "KUBERNETES_SERVICE_HOST";

// For Open MPI, Intel MPI and MPICH.
constexpr const char* kHostfiles[] = {"OMPI_MCA_orte_default_hostfile",
                                      "I_MPI_HYDRA_HOST_FILE",
                                      "HYDRA_HOST_FILE"};

// spec.slotsPerWorker, for hosts without a number.
int slots_by_default(const Environment& environment) {
  int slots = 1;
  for (const char* name :
       {"OMPI_MCA_orte_set_default_slots", "I_MPI_PERHOST"}) {
    if (parse_slots(value_in(environment, name), &slots)) return slots;
  }
  return 1;
}

absl::StatusOr<Host> parse_line(absl::string_view line, int default_slots) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(fields[0], absl::MaxSplits(':', 1));
  Host host = {std::string(parts.first), default_slots};
  bool readable = is_host_name(host.name);
  if (parts.first.size() < fields[0].size()) {
    readable = readable && parse_slots(parts.second, &host.slots);
  }
  for (absl::string_view field : fields) {
    if (!absl::ConsumePrefix(&field, "slots=")) continue;
    readable = readable && parse_slots(field, &host.slots);
  }
  if (readable) return host;
  return absl::InvalidArgumentError(
      absl::StrCat("has the line '", line, "', which is not a host"));
}

}  // namespace

absl::StatusOr<std::vector<Host>> parse_operator_hosts(const std::string& text,
                                                       int default_slots) {
  std::vector<Host> hosts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    absl::ConsumePrefix(&line, "echo ");
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    HVD_ASSIGN_OR_RETURN(const Host host, parse_line(line, default_slots));
    add_slots(hosts, host.name, host.slots);
  }
  if (hosts.empty()) return absl::InvalidArgumentError("names no host");
  return hosts;
}

absl::StatusOr<std::vector<Host>> mpi_operator_hosts(
    const Environment& environment) {
  if (value_in(environment, kKubernetes).empty()) return std::vector<Host>();
  for (const char* name : kHostfiles) {
    const std::string path = value_in(environment, name);
    if (path.empty()) continue;
    const std::string source = absl::StrCat(name, " (", path, ")");
    const absl::StatusOr<std::string> text = read_text_file(path);
    if (!text.ok()) {
      return unreadable_hosts(
          source, absl::StrCat("cannot be read: ", text.status().message()));
    }
    absl::StatusOr<std::vector<Host>> hosts =
        parse_operator_hosts(*text, slots_by_default(environment));
    if (hosts.ok()) return hosts;
    return unreadable_hosts(source, std::string(hosts.status().message()));
  }
  return std::vector<Host>();
}

}  // namespace hvd::launcher
