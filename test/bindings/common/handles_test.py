# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest
import torch

import horovodpp
import horovodpp.torch as hvd


def test_a_handle_is_a_number_until_it_is_synchronized(size):
    handle = hvd.allreduce_async(torch.ones(3), op=hvd.Sum, name="handle")
    assert isinstance(handle, int)
    assert hvd.poll(handle) in (False, True)
    assert hvd.synchronize(handle).tolist() == [size] * 3
    with pytest.raises(ValueError,
                       match=f"Handle {handle} was not created or has been cleared."):
        hvd.poll(handle)
    assert hvd.synchronize(handle) is None


def test_a_number_that_is_no_handle():
    with pytest.raises(ValueError, match="Handle -1 was not created or has been cleared."):
        hvd.poll(-1)
    assert hvd.synchronize(-1) is None


def test_poll_reports_the_end():
    handle = hvd.allreduce_async(torch.ones(3))
    hvd.barrier()
    while not hvd.poll(handle):
        pass
    assert hvd.synchronize(handle).tolist() == [1, 1, 1]


def test_the_memory_lives_as_long_as_the_handle(size):
    handles = [hvd.allreduce_async_(torch.full((10000,), float(i)), op=hvd.Sum, name=f"kept.{i}")
               for i in range(20)]
    for i, handle in enumerate(handles):
        result = hvd.synchronize(handle)
        assert result.min() == result.max() == i * size


@pytest.mark.parametrize("module", [hvd, horovodpp])
@pytest.mark.parametrize("done", [False, True])
def test_a_name_is_taken_until_its_handle_is_synchronized(module, done, size):
    values = torch.ones(3) if module is hvd else numpy.ones(3)
    handle = module.allreduce_async(values, name="taken")
    if done:  # By now the operation has ended on all ranks, which changes nothing.
        hvd.barrier()
        hvd.barrier()
    for again in (module.allreduce_async, module.allreduce, module.allreduce_):
        with pytest.raises(ValueError, match="'taken' is taken by handle .* synchronize"):
            again(values, name="taken")
    assert module.synchronize(handle).tolist() == [1, 1, 1]
    assert module.allreduce(values, name="taken").tolist() == [1, 1, 1]


def test_a_poll_that_sees_the_end_frees_the_name():
    first = hvd.allreduce_async(torch.ones(3), name="polled")
    while not hvd.poll(first):
        pass
    second = hvd.allreduce_async(torch.full((3,), 2.0), name="polled")
    assert hvd.synchronize(first).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="'polled' is taken"):  # By the second.
        hvd.allreduce_async(torch.ones(3), name="polled")
    assert hvd.synchronize(second).tolist() == [2, 2, 2]


def test_collectives_of_two_kinds_may_share_a_name(size):
    reduced = hvd.allreduce_async(torch.ones(3), name="shared")
    gathered = hvd.allgather_async(torch.ones(3), name="shared")
    assert hvd.synchronize(gathered).tolist() == [1] * 3 * size
    assert hvd.synchronize(reduced).tolist() == [1, 1, 1]


def test_a_name_is_free_after_an_error():
    with pytest.raises(ValueError, match="op is"):
        hvd.allreduce_async(torch.ones(3), name="failed", op=17)
    assert hvd.allreduce(torch.ones(3), name="failed").tolist() == [1, 1, 1]
