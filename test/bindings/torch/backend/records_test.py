# SPDX-License-Identifier: Apache-2.0
"""Records of calls, as torch's analyzer of its flight recorder reads them."""
import json
import pickle
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from versions import needs_torch


@pytest.fixture
def folder(tmp_path):
    """A folder of rank 0 for the files of all ranks, without records of earlier calls."""
    from horovodpp.torch.backend import records
    paths = [str(tmp_path)]
    dist.broadcast_object_list(paths, src=0)
    dist.barrier()
    records._kept.clear()
    return paths[0]


def analyzed(folder):
    """The database that torchfrtrace makes of the files."""
    from torch.distributed.flight_recorder import fr_trace
    path = f"{folder}.database"
    fr_trace.main([folder, "--prefix", "records_", "--allow-incomplete-ranks", "-o", path])
    with open(path, "rb") as file:
        return pickle.load(file)[1]


@needs_torch("2.9", "analyzer in its package")
def test_torchs_analyzer_matches_the_calls_of_all_ranks(folder, rank, size):
    from horovodpp.torch.backend import write_records
    dist.all_reduce(torch.ones(3))
    work = dist.all_gather_into_tensor(torch.ones(2 * size), torch.ones(2), async_op=True)
    dist.broadcast(torch.ones(2, 2), 0)
    work.wait()
    write_records(f"{folder}/records_")
    dist.barrier()
    if rank == 0:
        found = analyzed(folder)
        names = [(call.collective_name, call.pass_check) for call in found.collectives]
        assert names == [("gloo:all_reduce", True), ("gloo:all_gather", True),
                         ("gloo:broadcast", True)]
        assert [call.collective_state for call in found.collectives] == ["completed"] * 3
        assert found.groups[0].size == size
    dist.barrier()


@needs_torch("2.9", "analyzer in its package")
def test_a_timeout_tells_the_latest_calls_and_writes_the_records(
        folder, rank, size, monkeypatch):
    if size == 1:
        pytest.skip("needs two ranks")
    monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", f"{folder}/records_")
    group = dist.new_group(timeout=timedelta(milliseconds=200))
    dist.broadcast(torch.ones(4), 0, group=group)
    if rank == 0:
        with pytest.raises(RuntimeError, match=(
                r"latest calls of this rank in the group '\w+': broadcast \[\[4\]\] number 1 "
                r"\(done\), all_reduce \[\[3\]\] number 2 \(in flight for 0.* Records are in .*_0")):
            dist.all_reduce(torch.ones(3), group=group)
    dist.barrier()
    if rank:
        from horovodpp.torch.backend import write_records
        write_records(f"{folder}/records_")
    dist.barrier()
    if rank == 0:
        late, = [call for call in analyzed(folder).collectives if call.input_sizes == [[3]]]
        assert (late.collective_name, late.collective_state) == ("gloo:all_reduce", "scheduled")
        assert late.missing_ranks == set(range(1, size))
    else:
        dist.all_reduce(torch.ones(3), group=group)  # That of rank 0 is in flight.
    dist.barrier()


def test_records_name_messages_and_calls_in_flight(folder, rank, size):
    from horovodpp.torch.backend import write_records
    after, before = (rank + 1) % size, (rank - 1) % size
    received = torch.zeros(5)
    works = [dist.isend(torch.ones(5), after), dist.irecv(received, before)]
    with open(write_records(f"{folder}/as_json_", as_json=True)) as file:
        written = json.load(file)
    names = [entry["profiling_name"] for entry in written["entries"]]
    assert names == [f"gloo:send {rank}->{after}", f"gloo:recv {rank}<-{before}"]
    assert written["pg_config"]["0"]["ranks"] == str(list(range(size)))
    for work in works:
        work.wait()
