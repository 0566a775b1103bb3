# SPDX-License-Identifier: Apache-2.0
"""Tests of features that not every supported torch has."""
import pytest
import torch


def _number(version):
    return tuple(int(part) for part in version.split(".")[:2])


def needs_torch(version, what):
    """Skips a test with a torch before `version`, which lacks `what`."""
    return pytest.mark.skipif(_number(torch.__version__) < _number(version),
                              reason=f"torch {torch.__version__} has no {what}")
