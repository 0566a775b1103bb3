# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import horovodpp
import horovodpp.torch as hvd
from horovodpp.common import basics

OF_THE_JOB = [hvd.rank, hvd.size, hvd.local_rank, hvd.local_size, hvd.cross_rank, hvd.cross_size,
              basics.is_homogeneous, hvd.mpi_threads_supported]


def test_places_are_those_of_one_node(rank, size):
    assert 0 <= rank < size
    assert (hvd.local_rank(), hvd.local_size()) == (rank, size)
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)
    assert basics.is_homogeneous()


def test_ranks_are_all_different(rank, size):
    assert hvd.allgather(torch.tensor([rank])).tolist() == list(range(size))


def test_reports_the_built_features():
    assert hvd.mpi_built() and hvd.mpi_enabled() and hvd.mpi_threads_supported()
    assert not hvd.gloo_built() and not hvd.gloo_enabled()
    assert not hvd.ddl_built() and not hvd.ccl_built()
    assert hvd.cuda_built() and not hvd.rocm_built()
    assert hvd.nccl_built() == 0 or hvd.nccl_built() >= 21400


def test_has_a_version():
    assert hvd.__version__ == horovodpp.__version__ == horovodpp._core.version()
    assert len(horovodpp.__version__.split(".")) == 3


def test_init_has_no_effect_in_a_job(size):
    hvd.init()
    hvd.init(comm=None, process_sets="dynamic")
    hvd.init(comm=list(range(size)))
    assert hvd.is_initialized()


def test_init_refuses_invalid_arguments(size):
    with pytest.raises(ValueError, match="Expected list of rank integers or mpi4py.MPI.Comm"):
        hvd.init(comm="world")
    with pytest.raises(NotImplementedError, match="process set"):
        hvd.init(comm=list(range(size + 1)))
    with pytest.raises(ValueError, match="'dynamic'"):
        hvd.init(process_sets="static")
    assert hvd.is_initialized()


def test_init_reports_a_failed_start(size):
    hvd.shutdown()
    with pytest.raises(ValueError, match=f"Horovod initialization failed. .*{size}"):
        hvd.init(process_sets=[hvd.ProcessSet([0, size])])
    assert not hvd.is_initialized()
    hvd.init()


def test_a_job_can_be_left_and_entered_again(rank, size):
    hvd.shutdown()
    assert not hvd.is_initialized()
    for function in OF_THE_JOB:
        with pytest.raises(ValueError,
                           match="Horovod has not been initialized; use hvd.init()"):
            function()
    for collective in (lambda: hvd.allreduce(torch.ones(1)), hvd.barrier, hvd.join):
        with pytest.raises(hvd.InvalidCallError, match="init"):
            collective()
    with pytest.raises(ValueError, match="has not been initialized"):
        hvd.add_process_set([0])
    with pytest.raises(ValueError, match="has not been initialized"):
        hvd.DistributedOptimizer(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1))
    hvd.shutdown()
    hvd.init()
    assert (hvd.rank(), hvd.size()) == (rank, size)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


def test_calls_in_flight_end_with_the_job(rank, size):
    handle = hvd.allreduce_async(torch.ones(1), name=f"of.rank.{rank}") if size > 1 else None
    hvd.shutdown()
    if handle is not None:
        with pytest.raises(ValueError, match=f"Handle {handle} was not created"):
            hvd.poll(handle)
        assert hvd.synchronize(handle) is None
    hvd.init()


def test_sets_of_init_can_be_used(rank, size):
    hvd.shutdown()
    mine = hvd.ProcessSet([0])
    rest = hvd.ProcessSet(range(1, size)) if size > 1 else None
    if size == 1:
        with pytest.raises(ValueError, match="initialization failed. .*exists already"):
            hvd.init(process_sets=[mine])
        hvd.init()
        return
    with pytest.raises(ValueError, match="entry number 1 is a duplicate: ProcessSet"):
        hvd.init(process_sets=[mine, hvd.ProcessSet([0])])
    hvd.init(process_sets=[mine, rest])
    assert {mine.process_set_id, rest.process_set_id} == {1, 2}
    own = mine if rank == 0 else rest
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=own).item() == own.size()
    hvd.init(process_sets=[rest])
    with pytest.raises(ValueError, match="was not given to the first hvd.init"):
        hvd.init(process_sets=[hvd.ProcessSet([0, 17])])
    hvd.barrier()
    hvd.shutdown()
    assert mine.process_set_id is None and mine.size() is None
    hvd.init()


def test_reform_is_for_a_job_that_broke():
    with pytest.raises(hvd.InvalidCallError, match="not broken"):
        hvd.reform()
