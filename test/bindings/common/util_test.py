# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from horovodpp.common import util


def test_built_features_match_the_bindings():
    assert util.mpi_built(verbose=True) in (True, False)
    assert not util.gloo_built() and not util.ddl_built() and not util.ccl_built()
    assert util.extension_available("torch") and not util.extension_available("tensorflow")
    assert util.gpu_available("tensorflow") is False
    util.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", __file__, "mpi_lib_v2")
    with pytest.raises(ImportError, match="horovod.mxnet has not been built"):
        util.check_extension("horovod.mxnet", "HOROVOD_WITH_MXNET", __file__)


def test_variables_hold_within_env(monkeypatch):
    monkeypatch.setenv("HVD_OLD", "old")
    with util.env(HVD_OLD="new", HVD_NEW="1", HVD_NOT=None):
        assert (os.environ["HVD_OLD"], os.environ["HVD_NEW"]) == ("new", "1")
        assert "HVD_NOT" not in os.environ
    assert os.environ["HVD_OLD"] == "old" and "HVD_NEW" not in os.environ


def test_lists_are_split_evenly():
    assert util.split_list([1, 2, 3, 4, 5], 3) == [[1, 2], [3, 4], [5]]
    assert util.split_list([1], 2) == [[1], []]
    assert util.is_iterable("ab") and not util.is_iterable(3)
    assert [n for n in range(9) if util.num_rank_is_power_2(n)] == [1, 2, 4, 8]
