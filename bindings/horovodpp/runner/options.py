# SPDX-License-Identifier: Apache-2.0
"""The options of horovodrun for the arguments of run()."""
import os


def check_arguments(given):
    """Raises ValueError if two arguments of run(), a dict, exclude each other."""
    for name, other in (("num_proc", "np"), ("min_num_proc", "min_np"),
                        ("max_num_proc", "max_np"),
                        ("network_interfaces", "network_interface")):
        if given[name] is not None and given[other] is not None:
            raise ValueError(f"{name} and {other} are the same argument: give only one")
    if given["hosts"] and given["hostfile"]:
        raise ValueError("Argument hosts and hostfile only allow one provided.")
    if given["use_gloo"] and given["use_mpi"]:
        raise ValueError("Argument use_gloo and use_mpi only allow one set True: use_gloo starts "
                         "the ranks without mpirun.")
    if given["use_gloo"] and given["mpi_args"]:
        raise ValueError("use_gloo starts the ranks without mpirun: leave out mpi_args, or "
                         "use_gloo")


def is_elastic(given):
    """Whether horovodrun starts an elastic job."""
    return bool(given["host_discovery_script"] or least_ranks(given))


def least_ranks(given):
    return given["min_num_proc"] or given["min_np"]


def ranks(given):
    """The number of ranks of a job that is not elastic; None: as many as the hosts have slots."""
    return given["num_proc"] or given["np"]


def interfaces(given):
    """The names of network interfaces, a list."""
    names = given["network_interfaces"] or given["network_interface"] or []
    return names.split(",") if isinstance(names, str) else list(names)


def uses_hosts(given):
    """Whether ranks may be on other machines."""
    return bool(given["hosts"] or given["hostfile"] or given["host_discovery_script"])


# Option of horovodrun -> the argument that has its value.
_VALUES = {
    "--slots-per-host": "slots", "--reset-limit": "reset_limit", "--hostfile": "hostfile",
    "--host-discovery-script": "host_discovery_script", "--start-timeout": "start_timeout",
    "--ssh-port": "ssh_port", "--ssh-identity-file": "ssh_identity_file",
    "--output-filename": "output_filename"}


def options_of(given):
    """horovodrun's options, a list."""
    options = []
    count = ranks(given) or (None if uses_hosts(given) or is_elastic(given) else 1)
    for option, value in (("-np", count), ("--min-np", least_ranks(given)),
                          ("--max-np", given["max_num_proc"] or given["max_np"]),
                          ("--hosts", _hosts(given["hosts"])),
                          *((option, given[name]) for option, name in _VALUES.items())):
        if value:
            options += [option, os.fspath(value) if hasattr(value, "__fspath__") else str(value)]
    if given["cooldown_range"]:
        options += ["--blacklist-cooldown-range", *map(str, given["cooldown_range"])]
    if interfaces(given):
        options += ["--network-interfaces", ",".join(interfaces(given))]
    if given["verbose"]:
        options.append("--verbose")
    if given["mpi_args"]:
        options.append(f"--mpi-args={given['mpi_args']}")
    return options + _launcher(given)


def _launcher(given):
    if given["use_mpi"] or given["mpi_args"]:
        return ["--mpi"]
    # Ranks of this machine need no mpirun.
    return [] if uses_hosts(given) and not given["use_gloo"] else ["--no-mpi"]


def _hosts(hosts):
    """"a:2,b:2", or a list of such parts."""
    return hosts if not hosts or isinstance(hosts, str) else ",".join(hosts)
