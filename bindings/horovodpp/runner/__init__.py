# SPDX-License-Identifier: Apache-2.0
"""Runs a function on the ranks of a job, from a program or a notebook."""
from __future__ import annotations

import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from horovodpp.common.pickling import dumps, is_of_main
from horovodpp.runner import discovered, exchange, options
from horovodpp.runner.elastic.discovery import HostDiscovery

Path = Union[str, "os.PathLike[str]"]


class _Traceback(Exception):
    """A rank's traceback as text: the cause of the exception raised here."""

    def __str__(self):
        rank, text = self.args
        return f'\n"""\nof rank {rank}:\n{text}"""'


def run(func: Callable[..., Any], args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None, num_proc: Optional[int] = None,
        min_num_proc: Optional[int] = None, max_num_proc: Optional[int] = None,
        slots: Optional[int] = None, reset_limit: Optional[int] = None,
        cooldown_range: Optional[Sequence[int]] = None,
        hosts: Union[str, Sequence[str], None] = None, hostfile: Optional[Path] = None,
        host_discovery_script: Union[Path, HostDiscovery, None] = None,
        start_timeout: Optional[float] = None,
        ssh_port: Optional[int] = None, ssh_identity_file: Optional[Path] = None,
        disable_cache: Optional[bool] = None, output_filename: Optional[Path] = None,
        verbose: Union[bool, int, None] = None, use_gloo: Optional[bool] = None,
        use_mpi: Optional[bool] = None, mpi_args: Optional[str] = None,
        network_interface: Union[str, Sequence[str], None] = None,
        network_interfaces: Union[str, Sequence[str], None] = None,
        executable: Optional[str] = None, np: Optional[int] = None, min_np: Optional[int] = None,
        max_np: Optional[int] = None, env: Optional[Mapping[str, str]] = None) -> List[Any]:
    """Calls `func(*args, **kwargs)` on each rank of a new job; returns the results by rank.

    Example:
        def train(rate): ...                    # It calls hvd.init() itself.

        losses = horovodpp.run(train, args=(0.1,), num_proc=2)
        losses = horovodpp.run(train, args=(0.1,), hosts="a:2,b:2", num_proc=4)

    Args:
        func: the function, which is sent to the ranks. A lambda, and a function of a function, of a
            notebook or of a program's main file, needs cloudpickle.
        args, kwargs: its arguments.
        num_proc, np: the number of ranks. By default 1 on this machine, and as many as the hosts
            have slots.
        min_num_proc, min_np: the least number of ranks of an elastic job.
        max_num_proc, max_np: the largest number of ranks of an elastic job.
        hosts: "a:2,b:2", or a list ["a:2", "b:2"]; by default this machine. The ranks' Python, the
            package and the folders of sys.path are at the same paths on all hosts.
        hostfile: a file of hosts; not with `hosts`.
        host_discovery_script: a program that prints the hosts of an elastic job, or a
            HostDiscovery of horovodpp.runner.elastic.discovery.
        slots, reset_limit, cooldown_range, start_timeout, ssh_port, ssh_identity_file,
        output_filename, verbose, mpi_args: as horovodrun's options --slots-per-host, --reset-limit,
            --blacklist-cooldown-range and those of the same names.
        use_gloo: start the ranks without mpirun: the default on this machine.
        use_mpi: start the ranks by mpirun.
        network_interfaces, network_interface: names of interfaces, a list or "eth0,ib0".
        executable: the Python to use.
        env: the environment of the ranks; by default this process's.
        disable_cache: accepted as in Horovod; there is no cache.

    Returns:
        A list of the results, by rank. Of an elastic job, those of the ranks that ended well.

    Raises:
        ValueError: arguments that exclude each other.
        TypeError: the function or an argument cannot be pickled.
        RuntimeError: a rank ended otherwise, or horovodrun is missing.
        Exception: the exception that a rank raised first, with its traceback as the cause.
    """
    del disable_cache
    given = dict(locals())
    options.check_arguments(given)
    with discovered.script_of(host_discovery_script) as given["host_discovery_script"]:
        return _run_job(given, _pickled(func, args, kwargs or {}))


def _run_job(given, call):
    """Runs a pickled call on the ranks of a job; returns the results by rank."""
    served = exchange.Exchange(call, options.uses_hosts(given), options.interfaces(given))
    try:
        command = [launcher(), *options.options_of(given),
                   given["executable"] or sys.executable, "-m", "horovodpp.run_task"]
        environment = _environment(given["env"])
        environment[exchange.VARIABLE] = served.place
        code = _run(command, environment)
    finally:
        served.close()
    return _results(served, code, given)


def _pickled(func, args, kwargs):
    """Raises TypeError with the way out if the call cannot be sent to other processes."""
    name = getattr(func, "__qualname__", repr(func))
    way_out = ("install cloudpickle (pip install cloudpickle), or move the function to the top "
               "level of a module that the ranks can import")
    try:
        sent = dumps((func, args, kwargs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"horovodpp.run() sends '{name}' and its arguments to other processes, "
                        f"which fails: {error}; {way_out}") from error
    if is_of_main(func):
        raise TypeError(f"horovodpp.run() sends '{name}' to other processes, which cannot find it "
                        f"in __main__: {way_out}")
    return sent


def _results(served, code, given):
    is_elastic = options.is_elastic(given)
    if served.failures and not (is_elastic and code == 0):
        _, rank, error, text = min(served.failures, key=lambda failure: failure[:2])
        raise error from _Traceback(rank, text)
    expected = options.least_ranks(given) or 1 if is_elastic else options.ranks(given)
    got = sorted(served.results)
    if code != 0 or len(got) < (expected or 1) or (not is_elastic and got != list(range(len(got)))):
        raise RuntimeError(f"horovodrun ended with exit code {code}, and no rank raised an "
                           "exception; see its output")
    return [pickle.loads(served.results[rank]) for rank in got]


def launcher():
    """The path of horovodrun. Raises RuntimeError if it is missing."""
    beside = pathlib.Path(sys.executable).parent / "horovodrun"
    found = os.environ.get("HOROVODRUN") or (
        str(beside) if beside.exists() else shutil.which("horovodrun"))
    if not found:
        raise RuntimeError("horovodrun was not found beside this Python or on the PATH: "
                           "pip install horovodpp, or set HOROVODRUN to its path")
    return found


def _environment(env):
    """The environment of the ranks, in which they find this program's modules."""
    environment = dict(os.environ if env is None else env)
    folders = [path or os.getcwd() for path in sys.path]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def _run(command, environment):
    """Runs a command and returns its exit code. Output goes to this program's output."""
    shown_here = sys.stdout is not sys.__stdout__
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if shown_here else None,
        stderr=subprocess.STDOUT if shown_here else None, text=True, errors="replace")
    try:
        if shown_here:
            for line in process.stdout:
                sys.stdout.write(line)
        return process.wait()
    except BaseException:
        process.terminate()  # horovodrun then ends the ranks and cleans up.
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
