# SPDX-License-Identifier: Apache-2.0
"""The features of the build, and small helpers, under the names of horovod.common.util."""
import contextlib
import importlib.util
import os

from horovodpp.common import basics


def _with_verbose(built):
    def get(verbose=False):
        result = built()
        if verbose:
            print(f"{built.__name__}: {result}")
        return result

    get.__name__ = get.__qualname__ = built.__name__
    get.__doc__ = built.__doc__
    return get


mpi_built = _with_verbose(basics.mpi_built)
gloo_built = _with_verbose(basics.gloo_built)
nccl_built = _with_verbose(basics.nccl_built)
ddl_built = _with_verbose(basics.ddl_built)
ccl_built = _with_verbose(basics.ccl_built)
cuda_built = _with_verbose(basics.cuda_built)
rocm_built = _with_verbose(basics.rocm_built)


def extension_available(ext_base_name, verbose=False):
    """Whether horovodpp has a binding of that name ("torch"), and its framework is installed."""
    available = ext_base_name == "torch" and importlib.util.find_spec("torch") is not None
    if verbose:
        print(f"{ext_base_name}: {'available' if available else 'not available'}")
    return available


def check_extension(ext_name, ext_env_var, pkg_path, *args):
    """Raises ImportError unless extension_available() for the last part of `ext_name`."""
    del ext_env_var, pkg_path, args
    if not extension_available(ext_name.rpartition(".")[2]):
        raise ImportError(f"Extension {ext_name} has not been built: horovodpp supports only "
                          "horovod.torch, which needs PyTorch")


def gpu_available(ext_base_name, verbose=False):
    """Whether that framework ("torch") finds a GPU."""
    available = extension_available(ext_base_name)
    if available:
        import torch
        available = torch.cuda.is_available()
    if verbose:
        print(f"{ext_base_name}: {'a GPU' if available else 'no GPU'}")
    return available


@contextlib.contextmanager
def env(**kwargs):
    """Sets environment variables in its scope; variables given as None stay unchanged."""
    wanted = {name: value for name, value in kwargs.items() if value is not None}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def num_rank_is_power_2(num_rank):
    """Whether `num_rank` is 1, 2, 4, ... horovodpp's Adasum takes any number of ranks."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def split_list(l, n):  # noqa: E741  (Horovod's name.)
    """Splits the list into n parts; the first parts may have one item more."""
    quotient, rest = divmod(len(l), n)
    ends = [quotient * part + min(part, rest) for part in range(n + 1)]
    return [l[start:end] for start, end in zip(ends, ends[1:])]


def is_iterable(x):
    """Whether iter() accepts `x`."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


def check_installed_version(name, version, exception=None):
    """Does nothing: the module is not compiled against a version of a framework."""
    del name, version, exception
