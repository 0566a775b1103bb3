# SPDX-License-Identifier: Apache-2.0
"""Runs a function on several ranks of this machine, from a program or a notebook."""
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

from horovodpp.common.pickling import dumps


class _Traceback(Exception):
    """A rank's traceback as text: the cause of the exception raised here."""

    def __str__(self):
        rank, text = self.args
        return f'\n"""\nof rank {rank}:\n{text}"""'


def run(func, args=(), kwargs=None, num_proc=None, np=None, mpi_args=None, output_filename=None,
        verbose=False, executable=None, env=None, use_gloo=None, use_mpi=None,
        start_timeout=None):
    """Calls `func(*args, **kwargs)` on ranks of this machine; returns the results by rank.

        def train(rate): ...                    # It calls hvd.init() itself.

        losses = horovodpp.run(train, args=(0.1,), np=2)

    func: the function; it is sent to other processes. A function of a notebook, or of a program's
        main file, needs cloudpickle.
    num_proc: the number of ranks; np is another name.
    mpi_args, output_filename, verbose: as horovodrun's options.
    executable: the Python to use.
    env: the environment of the ranks; by default this process's.
    use_mpi: start the ranks by mpirun; by default only if mpi_args are given.
    use_gloo: start the ranks without mpirun.
    start_timeout: as horovodrun's option, in seconds.

    Raises the exception that a rank raised first, with its traceback as the cause. Raises
    RuntimeError if a rank ended otherwise, or if horovodrun is missing.
    """
    if num_proc is not None and np is not None:
        raise ValueError("num_proc and np are the same argument: give only one")
    if use_gloo and (use_mpi or mpi_args):
        raise ValueError("use_gloo starts the ranks without mpirun: leave out use_mpi and mpi_args, "
                         "or use_gloo")
    ranks = num_proc or np or 1
    with tempfile.TemporaryDirectory(prefix="horovodpp.run.") as name:
        folder = pathlib.Path(name)
        (folder / "function").write_bytes(dumps((func, args, kwargs or {})))
        command = [launcher(), "-np", str(ranks)]
        if verbose:
            command.append("--verbose")
        if output_filename:
            command += ["--output-filename", os.fspath(output_filename)]
        # All ranks are on this machine, which needs no mpirun.
        command.append("--mpi" if use_mpi or mpi_args else "--no-mpi")
        if start_timeout:
            command += ["--start-timeout", str(start_timeout)]
        if mpi_args:
            command.append(f"--mpi-args={mpi_args}")
        command += [executable or sys.executable, "-m", "horovodpp.run_task", name]
        code = _run(command, _environment(env))
        _raise_first_failure(folder)
        results = [folder / f"result.{rank}" for rank in range(ranks)]
        if code != 0 or not all(result.exists() for result in results):
            raise RuntimeError(f"horovodrun ended with exit code {code}, and no rank raised an "
                               "exception; see its output")
        return [pickle.loads(result.read_bytes()) for result in results]


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


def _raise_first_failure(folder):
    failures = []
    for path in folder.glob("failure.*"):
        if path.suffix != ".part":
            failures.append(pickle.loads(path.read_bytes()))
    if failures:
        _, rank, error, text = min(failures, key=lambda failure: failure[:2])
        raise error from _Traceback(rank, text)
