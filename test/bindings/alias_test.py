# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import horovodpp.torch as hvd

AS_HOROVOD = """
import horovodpp
horovodpp.install_as_horovod()
horovodpp.install_as_horovod()
import horovod
import horovod.torch as hvd
import horovodpp.torch
from horovod.common.exceptions import HorovodInternalError
from horovod.torch.mpi_ops import allreduce_async_
assert horovod is horovodpp and hvd is horovodpp.torch
assert hvd.__name__ == hvd.__spec__.name == "horovodpp.torch"
assert HorovodInternalError is hvd.HorovodInternalError
try:
    import horovod.tensorflow
except ImportError as error:
    assert "horovod" in str(error), error
else:
    raise AssertionError("there is no horovod.tensorflow")
"""
TOO_LATE = """
import sys, types
sys.modules["horovod"] = types.ModuleType("horovod")
import horovodpp
try:
    horovodpp.install_as_horovod()
except ImportError as error:
    assert "was imported already" in str(error)
else:
    raise AssertionError("it was accepted")
"""
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import horovodpp
try:
    import horovodpp.torch
except ImportError as error:
    assert "pip install torch" in str(error), error
else:
    raise AssertionError("it was imported")
"""


def run_here(program):
    """In a process that is no rank."""
    if hvd.rank() == 0:
        subprocess.run([sys.executable, "-c", program], check=True)


def test_horovod_is_another_name():
    run_here(AS_HOROVOD)


def test_a_horovod_that_was_imported_is_not_replaced():
    run_here(TOO_LATE)


def test_the_package_needs_no_torch():
    run_here(WITHOUT_TORCH)
