# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

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


def test_a_name_in_flight_is_refused(rank, size):
    if size == 1:
        pytest.skip("alone, nothing stays in flight")
    if rank == 0:
        handle = hvd.allreduce_async(torch.ones(3), name="taken")
        with pytest.raises(ValueError, match="taken"):
            hvd.allreduce_async(torch.ones(3), name="taken")
        hvd.barrier()
    else:
        hvd.barrier()
        handle = hvd.allreduce_async(torch.ones(3), name="taken")
    assert hvd.synchronize(handle).tolist() == [1, 1, 1]
