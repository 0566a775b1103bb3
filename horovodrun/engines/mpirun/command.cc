// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/command.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/shell_words.h"
#include "horovodrun/engines/mpirun/remote_shell.h"

namespace hvd::launcher {
namespace {

// Remarks of Open MPI's daemons about ranks that ended without MPI_Finalize.
constexpr NoisePattern kNoise[] = {
    {"] PMIX ERROR: BAD-PARAM in file ", "pmix_event_notification.c", true},
    {"] plm:rsh: Warning: setpgid(", " failed in parent ", true},
    {"mpirun: Forwarding signal ", " to job", false},
};

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
                           const LaunchContext& context, Environment& added) {
  if (context.root) {
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
  const std::string names = absl::StrJoin(arguments.network_interfaces, ",");
  const std::string networks = absl::StrJoin(context.networks, ",");
  if (names.empty() && networks.empty()) return;
  for (const char* name :
       {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
        "PRTE_MCA_prte_if_include"}) {
    added.emplace(name, networks.empty() ? names : networks);
  }
}

// Whether the user has set the interfaces of Open MPI's `part`. Open MPI
// accepts only one way to set them.
bool says_interfaces(const Arguments& arguments, const LaunchContext& context,
                     const std::string& part) {
  for (const char* how : {"_if_include", "_if_exclude"}) {
    const std::string name = absl::StrCat(part, how);
    if (context.environment.contains(absl::StrCat("OMPI_MCA_", name)) ||
        std::count(arguments.mpi_arguments.begin(),
                   arguments.mpi_arguments.end(), name) > 0) {
      return true;
    }
  }
  return false;
}

// A job on this host uses its loopback, which does not depend on other
// interfaces. (Open MPI 4 listens on all of them nevertheless.)
void stay_on_this_host(const Arguments& arguments, const LaunchContext& context,
                       Environment& added) {
  if (!context.has_loopback) return;
  for (const char* part : {"oob_tcp", "btl_tcp"}) {
    if (says_interfaces(arguments, context, part)) continue;
    added.emplace(absl::StrCat("OMPI_MCA_", part, "_if_include"), "lo");
  }
}

void add_open_mpi_options(MpiFlavor flavor, const std::vector<Host>& hosts,
                          std::vector<std::string>& argv) {
  append(argv, {"-H", join_hosts(hosts, /*with_slots=*/true)});
  if (flavor == MpiFlavor::kOpenMpi5) argv.push_back("--enable-recovery");
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
  return absl::OkStatus();
}

// Adds mpirun with its options, and the variables for it.
absl::Status add_mpirun(MpiFlavor flavor, const Arguments& arguments,
                        const LaunchContext& context, StartPlan& plan) {
  std::vector<Host> hosts = arguments.hosts;
  if (hosts.empty()) hosts.push_back({"localhost", arguments.ranks});

  plan.argv = {"mpirun", "-np", absl::StrCat(arguments.ranks)};
  const bool is_local = all_local(hosts, context.host_name);
  Environment settings;
  if (is_open_mpi(flavor)) {
    add_open_mpi_settings(arguments, context, settings);
    if (is_local) stay_on_this_host(arguments, context, settings);
    add_open_mpi_options(flavor, hosts, plan.argv);
  } else {
    HVD_RETURN_IF_ERROR(add_hydra_options(flavor, arguments, hosts, plan.argv));
    if (flavor == MpiFlavor::kIntel) add_intel_settings(settings);
  }
  for (const auto& [name, value] : context.environment) {
    settings.erase(name);
  }
  plan.added.insert(settings.begin(), settings.end());
  if (!is_local) {
    plan.remote_shell = shell_words(
        is_open_mpi(flavor) ? MpiFamily::kOpenMpi : MpiFamily::kHydra,
        arguments, context.environment);
    plan.takes_networks = is_open_mpi(flavor) &&
                          !says_interfaces(arguments, context, "oob_tcp") &&
                          !says_interfaces(arguments, context, "btl_tcp");
  }
  if (flavor == MpiFlavor::kOpenMpi4 && !is_local) {
    const std::string agent =
        remote_shell_agent(context.agent, context.environment);
    if (!agent.empty()) plan.added["OMPI_MCA_plm_rsh_agent"] = agent;
  }

  // Open MPI passes the environment only to its own host, Hydra to every host.
  if (is_open_mpi(flavor) && !is_local) {
    Environment environment = plan.added;
    environment.insert(context.environment.begin(), context.environment.end());
    for (std::string& name : exportable_names(environment)) {
      append(plan.argv, {"-x", std::move(name)});
    }
  }
  append(plan.argv, arguments.mpi_arguments);
  return absl::OkStatus();
}

// Whether mpirun must do more with the ranks' output than show it.
bool is_output_mpiruns(const Arguments& arguments, const StartPlan& plan,
                       const LaunchContext& context) {
  const auto is_setting = [](const auto& variable) {
    return absl::StrContains(variable.first, "_MCA_") &&
           absl::StrContains(variable.first, "output");
  };
  const auto is_option = [](const std::string& argument) {
    return absl::StrContains(argument, "output") ||
           absl::StrContains(argument, "stderr") ||
           absl::StrContains(argument, "xml");
  };
  const auto any = [](const auto& all, const auto& test) {
    return std::any_of(all.begin(), all.end(), test);
  };
  return any(arguments.mpi_arguments, is_option) ||
         any(plan.added, is_setting) || any(context.environment, is_setting);
}

}  // namespace

absl::StatusOr<StartPlan> mpirun_plan(MpiFlavor flavor,
                                      const Arguments& arguments,
                                      const LaunchContext& context) {
  StartPlan plan = {.added = common_variables(arguments, context),
                    .disguises_signals = is_open_mpi(flavor),
                    .noise = kNoise};
  HVD_RETURN_IF_ERROR(add_mpirun(flavor, arguments, context, plan));
  plan.reads_ranks = !is_output_mpiruns(arguments, plan, context);
  append(plan.argv, agent_command(arguments, context));
  return plan;
}

}  // namespace hvd::launcher
