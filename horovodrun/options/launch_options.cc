// SPDX-License-Identifier: Apache-2.0
// The options of Horovod's horovodrun about hosts, starts and output, and those
// of this project.
#include "horovodrun/options/option.h"

namespace hvd::launcher {
namespace {

constexpr double kMaxRanks = 1 << 20;
constexpr double kMaxLogFiles = 1000;
constexpr double kMaxSeconds = 7 * 24 * 3600;

constexpr Option kLaunchOptions[] = {
    // Ranks and hosts.
    {.names = "--num-proc -np -n",
     .group = OptionGroup::kRanks,
     .help = "Number of ranks. Default: all slots of the hosts",
     .type = ValueType::kCount,
     .value = "N",
     .least = 1,
     .most = kMaxRanks,
     .one_of = "number of ranks"},
    {.names = "--hosts -H",
     .group = OptionGroup::kRanks,
     .help = "Hosts with their slots: worker-0:2,worker-1:2. Default: this "
             "host. Each host needs horovodrun and the command at the same "
             "path",
     .type = ValueType::kText,
     .value = "HOSTS",
     .one_of = "hosts"},
    {.names = "--hostfile -hostfile",
     .group = OptionGroup::kRanks,
     .help = "File with a line for each host: worker-0 slots=2",
     .type = ValueType::kFile,
     .value = "FILE",
     .one_of = "hosts"},
    {.names = "--config-file",
     .group = OptionGroup::kRanks,
     .help = "YAML file with further options. Options of the command line "
             "override the file, and the file overrides variables",
     .type = ValueType::kFile,
     .value = "FILE"},
    {.names = "--min-np --min-num-proc",
     .group = OptionGroup::kRanks,
     .help = "Least number of ranks of an elastic job, which goes on when "
             "ranks are lost. Default: -np",
     .type = ValueType::kCount,
     .value = "N",
     .least = 1,
     .most = kMaxRanks},
    {.names = "--max-np --max-num-proc",
     .group = OptionGroup::kRanks,
     .help = "Largest number of ranks of an elastic job: newcomers replace "
             "lost ranks, up to this number. Default: -np",
     .type = ValueType::kCount,
     .value = "N",
     .least = 1,
     .most = kMaxRanks},
    {.names = "--spares",
     .group = OptionGroup::kRanks,
     .help = "Hot spares of an elastic job: started at the beginning, they "
             "wait until a rank is lost. Default: 0",
     .type = ValueType::kCount,
     .value = "N",
     .most = kMaxRanks},
    {.names = "--slots-per-host",
     .group = OptionGroup::kRanks,
     .help = "Slots of a host that the discovery script names without slots. "
             "Default: 1",
     .type = ValueType::kCount,
     .value = "N",
     .least = 1,
     .most = kMaxRanks},
    {.names = "--host-discovery-script",
     .group = OptionGroup::kRanks,
     .help = "Program that prints the hosts of an elastic job, one in a line: "
             "worker-0 or worker-0:2. It runs every second: newcomers start "
             "on new hosts, and ranks of hosts that are gone end",
     .type = ValueType::kFile,
     .value = "FILE",
     .one_of = "hosts"},

    // How ranks are started.
    {.names = "--mpi",
     .group = OptionGroup::kStart,
     .help = "Start the ranks by mpirun. Default: if it is installed",
     .key = "controller=mpi",
     .one_of = "how ranks are started"},
    {.names = "--no-mpi --gloo",
     .group = OptionGroup::kStart,
     .help = "Start the ranks without MPI, those of other hosts by ssh: "
             "faster, for commands that do not call MPI themselves",
     .key = "controller=gloo",
     .one_of = "how ranks are started"},
    {.names = "--launcher",
     .group = OptionGroup::kStart,
     .help =
         "The program that starts the ranks: mpirun (as --mpi), srun (in an "
         "allocation of Slurm), direct (as --no-mpi; local and ssh mean the "
         "same), or auto, the first of mpirun and direct that can. Default: "
         "auto",
     .type = ValueType::kChoice,
     .value = "NAME",
     .choices = "auto mpirun srun direct local ssh",
     .one_of = "how ranks are started"},
    {.names = "--jsrun",
     .group = OptionGroup::kStart,
     .help = "Start the ranks by IBM's jsrun",
     .one_of = "how ranks are started",
     .effect = Effect::kRefused,
     .words = "use --mpi, with the hosts of the allocation in --hosts"},
    {.names = "--start-timeout",
     .group = OptionGroup::kStart,
     .help = "Seconds, such as 2.5, within which every rank must have "
             "started. Default: HOROVOD_START_TIMEOUT, or 30",
     .type = ValueType::kNumber,
     .value = "SECONDS",
     .least = 0.001,
     .most = kMaxSeconds,
     .variable = "HOROVOD_START_TIMEOUT"},
    {.names = "--mpi-args",
     .group = OptionGroup::kStart,
     .help = "Further arguments for mpirun, as one word: --mpi-args \"-x A=1\"",
     .type = ValueType::kText,
     .value = "ARGUMENTS"},
    {.names = "--binding-args",
     .group = OptionGroup::kStart,
     .help = "How mpirun binds ranks to cores, as one word: --binding-args "
             "\"--bind-to core\". Default: not at all",
     .type = ValueType::kText,
     .value = "ARGUMENTS"},
    {.names = "--disable-cache",
     .group = OptionGroup::kStart,
     .help = "Check the hosts anew",
     .effect = Effect::kIgnored,
     .words = "horovodrun keeps no results of checks"},
    {.names = "--verbose",
     .group = OptionGroup::kStart,
     .help = "Show the command that starts the ranks, and its environment"},

    // Connections between hosts.
    {.names = "--network-interfaces --network-interface",
     .group = OptionGroup::kHosts,
     .help = "Interfaces for traffic between hosts, separated by commas",
     .type = ValueType::kText,
     .value = "NAMES",
     .adds_up = true},
    {.names = "--ssh-port -p",
     .group = OptionGroup::kHosts,
     .help = "Port of the hosts' SSH servers. Default: ssh's configuration",
     .type = ValueType::kCount,
     .value = "PORT",
     .least = 1,
     .most = 65535},
    {.names = "--ssh-identity-file -i",
     .group = OptionGroup::kHosts,
     .help = "File with the private key for SSH. Default: ssh's configuration",
     .type = ValueType::kFile,
     .value = "FILE"},
    {.names = "--tcp",
     .group = OptionGroup::kHosts,
     .help = "Use TCP between hosts, and no InfiniBand",
     .variable = "NCCL_IB_DISABLE=1 OMPI_MCA_pml=ob1 "
                 "OMPI_MCA_btl=^openib,uct,ofi,usnic"},

    // Output of the ranks.
    {.names = "--output-filename --log-dir",
     .group = OptionGroup::kOutput,
     .help = "Folder to which the output of each rank is written, as well as "
             "shown",
     .type = ValueType::kFile,
     .value = "FOLDER"},
    {.names = "--prefix-output-with-timestamp -prefix-timestamp",
     .group = OptionGroup::kOutput,
     .help = "Begin each line with the time, the rank and the stream"},
    {.names = "--tag-output",
     .group = OptionGroup::kOutput,
     .help = "Begin each line with the rank and the stream: [0]<stdout>:"},
    {.names = "--log-max-size",
     .group = OptionGroup::kOutput,
     .help = "Size of a file of --log-dir, such as 500K, 100M or 2G, at which "
             "the next line begins a new file; stdout is renamed to stdout.1, "
             "and so on. Default: no limit",
     .type = ValueType::kText,
     .value = "SIZE"},
    {.names = "--log-files",
     .group = OptionGroup::kOutput,
     .help = "Files that --log-max-size keeps of each stream, the newest "
             "included. Default: 5",
     .type = ValueType::kCount,
     .value = "N",
     .least = 2,
     .most = kMaxLogFiles},

    {.names = "--watch",
     .group = OptionGroup::kOutput,
     .help = "Show below the output what each rank does: its state, "
             "collectives in a second, whom it waits for, CPU time and memory. "
             "Needs a terminal"},

    // Failures.
    {.names = "--debug-on-crash",
     .group = OptionGroup::kFailures,
     .help = "A rank that crashes (by SIGSEGV, SIGBUS, SIGFPE, SIGILL or "
             "SIGABRT) prints its stacks, by gdb or eu-stack if installed, and "
             "Python's",
     .variable = "PYTHONFAULTHANDLER=1"},
    {.names = "--reset-limit",
     .group = OptionGroup::kFailures,
     .help = "Most ranks that an elastic job may lose. Default: any number",
     .type = ValueType::kCount,
     .value = "N",
     .most = kMaxRanks},
    {.names = "--elastic-timeout",
     .group = OptionGroup::kFailures,
     .help = "Seconds that an elastic job may have fewer ranks than --min-np. "
             "Default: 600",
     .type = ValueType::kNumber,
     .value = "SECONDS",
     .most = kMaxSeconds},
    {.names = "--blacklist-cooldown-range",
     .group = OptionGroup::kFailures,
     .help = "Seconds, from 1 to 3600, in which an elastic job starts no ranks "
             "on a host where a rank has failed; they double from MIN to MAX",
     .type = ValueType::kCount,
     .value = "MIN MAX",
     .least = 1,
     .most = 3600,
     .values = 2},

    // Help and information.
    {.names = "--help -h",
     .group = OptionGroup::kAbout,
     .help = "Show this help"},
    {.names = "--version -v",
     .group = OptionGroup::kAbout,
     .help = "Show the version"},
    {.names = "--check-build -cb",
     .group = OptionGroup::kAbout,
     .help = "Show the parts of this installation"},
    {.names = "--dump",
     .group = OptionGroup::kAbout,
     .help = "Show what each rank on this host does, of all jobs; followed by "
             "the id of a process: of the ranks below it"},
    {.names = "--merge-timelines",
     .group = OptionGroup::kAbout,
     .help = "Merge the timelines of ranks, whose files follow, into FILE; "
             "the first word of the command line",
     .type = ValueType::kFile,
     .value = "FILE"},
    {.names = "--completion",
     .group = OptionGroup::kAbout,
     .help = "Show a script that completes horovodrun's options in a shell",
     .type = ValueType::kChoice,
     .value = "SHELL",
     .choices = "bash zsh"},
    {.names = "--print",
     .group = OptionGroup::kAbout,
     .help = "Show the manual page, or the table of the documentation",
     .type = ValueType::kChoice,
     .value = "PAGE",
     .choices = "manual table",
     .hidden = true},
};

}  // namespace

std::span<const Option> launch_options() { return kLaunchOptions; }

}  // namespace hvd::launcher
