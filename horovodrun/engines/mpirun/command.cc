// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/command.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/status.h"
#include "horovodrun/engines/mpirun/remote_shell.h"
#include "horovodrun/output/report.h"

namespace hvd::launcher {
namespace {

std::string join_hosts(const std::vector<Host>& hosts, bool with_slots) {
  return absl::StrJoin(hosts, ",", [&](std::string* out, const Host& host) {
    absl::StrAppend(out, host.name);
    if (with_slots) absl::StrAppend(out, ":", host.slots);
  });
}

void append(std::vector<std::string>& argv, std::vector<std::string> words) {
  argv.insert(argv.end(), words.begin(), words.end());
}

void add_open_mpi_settings(const Arguments& arguments,
                           const Surroundings& surroundings,
                           Environment& added) {
  if (surroundings.root) {
    for (const char* family : {"OMPI", "PRTE"}) {
      added.emplace(absl::StrCat(family, "_ALLOW_RUN_AS_ROOT"), "1");
      added.emplace(absl::StrCat(family, "_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
    }
  }
  // More ranks than cores are normal, so do not bind ranks to cores.
  added.emplace("OMPI_MCA_hwloc_base_binding_policy", "none");
  added.emplace("OMPI_MCA_rmaps_base_mapping_policy", "slot");
  added.emplace("OMPI_MCA_rmaps_base_oversubscribe", "1");
  added.emplace("PRTE_MCA_hwloc_default_binding_policy", "none");
  added.emplace("PRTE_MCA_rmaps_default_mapping_policy", "slot:oversubscribe");
  // A host may have no other name that can be resolved, and horovodrun uses
  // this name.
  added.emplace("OMPI_MCA_orte_keep_fqdn_hostnames", "1");
  // The end of one rank must not end the others before they have noticed it.
  added.emplace("OMPI_MCA_orte_enable_recovery", "1");
  if (!arguments.network_interfaces.empty()) {
    const std::string names = absl::StrJoin(arguments.network_interfaces, ",");
    for (const char* name :
         {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
          "PRTE_MCA_prte_if_include", "NCCL_SOCKET_IFNAME"}) {
      added.emplace(name, names);
    }
  }
}

// Whether the user has set the interfaces of Open MPI's `part`. Open MPI
// accepts only one way to set them.
bool says_interfaces(const Arguments& arguments,
                     const Surroundings& surroundings,
                     const std::string& part) {
  for (const char* how : {"_if_include", "_if_exclude"}) {
    const std::string name = absl::StrCat(part, how);
    if (surroundings.environment.contains(absl::StrCat("OMPI_MCA_", name)) ||
        std::count(arguments.mpi_arguments.begin(),
                   arguments.mpi_arguments.end(), name) > 0) {
      return true;
    }
  }
  return false;
}

// A job on this host uses its loopback, which works whatever happens to other
// interfaces. (Open MPI 4 listens on all of them nevertheless.)
void stay_on_this_host(const Arguments& arguments,
                       const Surroundings& surroundings, Environment& added) {
  if (!surroundings.has_loopback) return;
  for (const char* part : {"oob_tcp", "btl_tcp"}) {
    if (says_interfaces(arguments, surroundings, part)) continue;
    added.emplace(absl::StrCat("OMPI_MCA_", part, "_if_include"), "lo");
  }
}

void add_open_mpi_options(MpiFlavor flavor, const Arguments& arguments,
                          const std::vector<Host>& hosts,
                          std::vector<std::string>& argv) {
  append(argv, {"-H", join_hosts(hosts, /*with_slots=*/true)});
  if (flavor == MpiFlavor::kOpenMpi5) argv.push_back("--enable-recovery");
  if (arguments.output_filename.empty()) return;
  if (flavor == MpiFlavor::kOpenMpi5) {
    append(argv, {"--output", absl::StrCat("dir=", arguments.output_filename)});
  } else {
    append(argv, {"--output-filename", arguments.output_filename});
  }
}

void add_intel_settings(Environment& added) {
  // As for Open MPI: ranks are not bound to cores, and the end of one rank does
  // not end the others.
  added.emplace("I_MPI_PIN", "off");
  added.emplace("I_MPI_FAULT_CONTINUE", "on");
}

absl::Status add_hydra_options(MpiFlavor flavor, const Arguments& arguments,
                               const std::vector<Host>& hosts,
                               std::vector<std::string>& argv) {
  if (flavor == MpiFlavor::kMpich) {
    append(argv, {"-hosts", join_hosts(hosts, /*with_slots=*/true),
                  "-disable-auto-cleanup"});
  } else {
    for (const Host& host : hosts) {
      if (&host != &hosts.back() && host.slots != hosts[0].slots) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Intel MPI needs the same number of slots on every "
            "host, but '",
            hosts[0].name, "' has ", hosts[0].slots, " and '", host.name,
            "' has ", host.slots, "; make them equal or use Open MPI"));
      }
    }
    append(argv, {"-hosts", join_hosts(hosts, /*with_slots=*/false), "-ppn",
                  absl::StrCat(hosts[0].slots)});
  }
  if (arguments.network_interfaces.size() > 1) {
    return absl::InvalidArgumentError(
        "MPICH and Intel MPI take one network interface only; name one, or use "
        "Open MPI");
  }
  if (!arguments.network_interfaces.empty()) {
    append(argv, {"-iface", arguments.network_interfaces[0]});
  }
  if (!arguments.output_filename.empty()) {
    append(argv, {"-outfile-pattern", arguments.output_filename});
  }
  return absl::OkStatus();
}

// Adds mpirun with its options, and the variables for it.
absl::Status add_mpirun(MpiFlavor flavor, const Arguments& arguments,
                        const Surroundings& surroundings,
                        MpirunCommand& command) {
  std::vector<Host> hosts = arguments.hosts;
  if (hosts.empty()) hosts.push_back({"localhost", arguments.ranks});

  command.argv = {"mpirun", "-np", absl::StrCat(arguments.ranks)};
  const bool is_local = all_local(hosts, surroundings.host_name);
  Environment settings;
  if (is_open_mpi(flavor)) {
    add_open_mpi_settings(arguments, surroundings, settings);
    if (is_local) stay_on_this_host(arguments, surroundings, settings);
    add_open_mpi_options(flavor, arguments, hosts, command.argv);
  } else {
    HVD_RETURN_IF_ERROR(
        add_hydra_options(flavor, arguments, hosts, command.argv));
    if (flavor == MpiFlavor::kIntel) add_intel_settings(settings);
  }
  for (const auto& [name, value] : surroundings.environment) {
    settings.erase(name);
  }
  command.added.insert(settings.begin(), settings.end());
  if (flavor == MpiFlavor::kOpenMpi4 && !is_local) {
    const std::string agent =
        remote_shell_agent(surroundings.agent, surroundings.environment);
    if (!agent.empty()) command.added["OMPI_MCA_plm_rsh_agent"] = agent;
  }

  // Open MPI passes the environment only to its own host, Hydra to every host.
  if (is_open_mpi(flavor) && !is_local) {
    Environment environment = command.added;
    environment.insert(surroundings.environment.begin(),
                       surroundings.environment.end());
    for (std::string& name : exportable_names(environment)) {
      append(command.argv, {"-x", std::move(name)});
    }
  }
  append(command.argv, arguments.mpi_arguments);
  return absl::OkStatus();
}

}  // namespace

std::string needs_mpirun(const Arguments& arguments,
                         const Surroundings& surroundings) {
  if (!all_local(arguments.hosts, surroundings.host_name)) return "other hosts";
  if (!arguments.mpi_arguments.empty()) return "--mpi-args";
  if (!arguments.network_interfaces.empty()) return "--network-interface";
  return "";
}

absl::StatusOr<MpirunCommand> mpirun_command(MpiFlavor flavor,
                                             const Arguments& arguments,
                                             const Surroundings& surroundings) {
  MpirunCommand command;
  command.added = arguments.settings;
  command.added["HOROVOD_SIZE"] = absl::StrCat(arguments.ranks);
  command.added["HOROVOD_LAUNCHER"] = "horovodrun";
  command.added[kTokenVariable] = surroundings.token;
  if (flavor == MpiFlavor::kNone) {
    const std::string why = needs_mpirun(arguments, surroundings);
    if (!why.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("without MPI there is no ", why,
                       ": leave it out, or start the ranks by mpirun (--mpi)"));
    }
    command.argv = {surroundings.agent, "--start-ranks",
                    absl::StrCat(arguments.ranks)};
  } else {
    HVD_RETURN_IF_ERROR(add_mpirun(flavor, arguments, surroundings, command));
  }
  append(command.argv, {surroundings.agent, "--agent"});
  if (arguments.verbose) command.argv.push_back("--verbose");
  command.argv.push_back("--");
  append(command.argv, arguments.command);
  return command;
}

std::string shell_quoted(const std::vector<std::string>& argv) {
  return absl::StrJoin(
      argv, " ", [](std::string* out, const std::string& word) {
        bool plain = !word.empty();
        for (char c : word) {
          plain =
              plain && (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                        std::string("-_=./:,@%+").find(c) != std::string::npos);
        }
        if (plain) {
          absl::StrAppend(out, word);
        } else {
          absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}),
                          "'");
        }
      });
}

}  // namespace hvd::launcher
