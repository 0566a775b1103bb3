# SPDX-License-Identifier: Apache-2.0
"""The job of the suite as the default process group: env:// without MASTER_ADDR meets in it."""
import pytest
import torch
import torch.distributed as dist

from versions import _number


@pytest.fixture(autouse=True, scope="session")
def world():
    if _number(torch.__version__) < (2, 4):
        pytest.skip("the backend needs torch 2.4")
    import horovodpp.torch.backend  # noqa: F401
    dist.init_process_group("horovodpp")
    yield dist.group.WORLD
    dist.destroy_process_group()


@pytest.fixture(autouse=True)
def ignore_warnings_of_torch():
    """Names that torch 2.13 deprecates are the names of older versions."""
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
