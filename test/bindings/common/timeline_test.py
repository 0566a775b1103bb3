# SPDX-License-Identifier: Apache-2.0
import json
import os

import pytest
import torch

import horovodpp.torch as hvd


@pytest.fixture
def in_a_job_with_a_timeline():
    hvd.shutdown()
    os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"
    hvd.init()
    yield
    hvd.shutdown()
    with pytest.raises(ValueError, match="has not been initialized"):
        hvd.start_timeline("late.json")
    with pytest.raises(ValueError, match="has not been initialized"):
        hvd.stop_timeline()
    del os.environ["HOROVOD_TIMELINE"]
    hvd.init()


def test_rank_0_writes_its_submissions(in_a_job_with_a_timeline, tmp_path, rank):
    path = tmp_path / "timeline.json"
    hvd.start_timeline(path)
    hvd.allreduce(torch.ones(2), name='of "a"')
    hvd.broadcast(torch.ones(2), 0, name="b")
    whole_already = json.loads(path.read_text()) if rank == 0 else None
    hvd.barrier()
    hvd.stop_timeline()
    hvd.stop_timeline()
    assert path.exists() == (rank == 0)
    if rank != 0:
        return
    events = json.loads(path.read_text())
    assert events[:len(whole_already)] == whole_already
    names = {event["pid"]: event["args"]["name"] for event in events
             if event["name"] == "process_name"}
    assert set(names.values()) - {"waits"} == {
        "rank 0", 'allreduce.of "a"', "broadcast.b", "barrier.noname"}
    for kind, tensor in (("ALLREDUCE", 'allreduce.of "a"'), ("BROADCAST", "broadcast.b")):
        for name in ("NEGOTIATE_" + kind, kind):
            begin, end = [e for e in events if e["name"] == name]
            assert (begin["ph"], end["ph"]) == ("B", "E")
            assert names[begin["pid"]] == names[end["pid"]] == tensor
            assert 0 <= begin["ts"] <= end["ts"]


def test_every_rank_writes_a_file_with_its_rank(in_a_job_with_a_timeline, tmp_path, rank):
    hvd.start_timeline(tmp_path / "{rank}.json", mark_cycles=True)
    hvd.allreduce(torch.ones(2), name="a")
    hvd.stop_timeline()
    events = json.loads((tmp_path / f"{rank}.json").read_text())
    assert [e["ph"] for e in events if e["name"] == "ALLREDUCE"] == ["B", "E"]


def test_a_timeline_has_to_be_wanted_from_the_start():
    with pytest.raises(ValueError, match="Set HOROVOD_TIMELINE=DYNAMIC to enable dynamic"):
        hvd.start_timeline("unwanted.json")
    hvd.stop_timeline()


def test_an_unwritable_file_is_a_warning(in_a_job_with_a_timeline, tmp_path, rank, capfd):
    path = tmp_path / "nowhere" / "timeline.json"
    hvd.start_timeline(path)
    hvd.barrier()
    assert capfd.readouterr().err.count("cannot write the timeline") == (rank == 0)
