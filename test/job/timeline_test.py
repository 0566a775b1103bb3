# SPDX-License-Identifier: Apache-2.0
"""The timeline of a job: one file of all ranks, on one clock."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jobs

FASHION_MNIST = os.environ["FASHION_MNIST"]
PROGRAM = os.environ["JOB_PROGRAM"]
os.environ["HOROVODPP_NUM_THREADS"] = "1"
HAS_CLOCKS = subprocess.run(["unshare", "-T", "--monotonic", "1000", "true"],
                            capture_output=True).returncode == 0


def read(path):
    """{"process": [event]} of a timeline; checks that spans nest in each lane."""
    events = json.loads(path.read_text())
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    lanes = {}
    by_process = {name: [] for name in names.values()}
    for event in events:
        by_process[names[event["pid"]]].append(event)
        if event["ph"] not in "BE":
            continue
        open_spans, last = lanes.setdefault((event["pid"], event.get("tid")), ([], [0]))
        assert event["ts"] >= last[0], event
        last[0] = event["ts"]
        if event["ph"] == "B":
            open_spans.append(event["name"])
        else:
            assert open_spans.pop() == event["name"], event
    assert len(names) == len(set(names.values())), names
    return by_process


def begins(events, name):
    return [e["ts"] for e in events if (e["name"], e["ph"]) == (name, "B")]


class OneFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "timeline.json"

    def job(self, ranks, *command):
        return jobs.run(ranks, "--timeline-filename", str(self.path), *command)

    def test_the_file_has_all_ranks_on_one_clock(self):
        job = self.job(3, FASHION_MNIST, "--epochs", "1", "--limit", "384", "--batch-size", "32",
                       "--checkpoint", "block")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(os.listdir(self.folder), ["timeline.json"])
        processes = read(self.path)
        for rank in range(3):
            training = processes[f"rank {rank} training"]
            for work in ("data", "backward", "recompute", "optimizer"):
                self.assertGreaterEqual(len(begins(training, work)), 4, work)
            offset, = [e["args"] for e in processes[f"rank {rank}"]
                       if e["name"] == "clock_offset"]
            self.assertEqual(offset["from"], "same clock")
        tensors = [name.partition(" allreduce.")[2] for name in processes
                   if name.startswith("rank 0 allreduce.")]
        self.assertTrue(tensors)
        # No rank ends a reduction before all have begun it.
        for tensor in tensors:
            times = {}
            for rank in range(3):
                spans = [e for e in processes[f"rank {rank} allreduce.{tensor}"]
                         if e["name"] == "ALLREDUCE"]
                for begin, end in zip(spans[::2], spans[1::2], strict=True):
                    if "batch" in end["args"]:
                        times.setdefault(end["args"]["batch"], []).append((begin["ts"], end["ts"]))
            for batch in times.values():
                self.assertEqual(len(batch), 3)
                self.assertGreaterEqual(min(end for _, end in batch) + 3,
                                        max(begin for begin, _ in batch))

    @unittest.skipUnless(HAS_CLOCKS, "needs the right to give a process another clock")
    def test_batches_align_ranks_with_other_clocks(self):
        program = f"{PROGRAM} late -1"
        job = self.job(2, "sh", "-c",
                       f"test ${{HOROVOD_RANK:-$OMPI_COMM_WORLD_RANK}} = 0 && exec {program}; "
                       f"exec unshare -T --monotonic 1000 -- {program}")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        processes = read(self.path)
        heads, offsets = ([next(e["args"] for e in processes[f"rank {rank}"]
                                if e["name"] == name) for rank in range(2)]
                          for name in ("process_name", "clock_offset"))
        begins_us = [head["start_of_steady_clock_in_nanos"] / 1e3 for head in heads]
        self.assertEqual(offsets[1]["from"], "batches")
        self.assertLessEqual(abs(offsets[1]["offset_us"] - offsets[0]["offset_us"]
                                 - (begins_us[1] - 1000e6 - begins_us[0])),
                             offsets[1]["error_us"] + 2)

    def test_the_timelines_of_killed_ranks_are_merged(self):
        job = self.job(2, PROGRAM, "victim", "1")
        self.assertNotEqual(job.returncode, 0)
        processes = json.loads(self.path.read_text())
        names = {e["args"]["name"] for e in processes if e["name"] == "process_name"}
        self.assertLessEqual({"rank 0 allreduce.x", "rank 1 allreduce.x"}, names)

    def test_a_merged_file_that_cannot_be_written_is_a_warning(self):
        (self.folder / "timeline.json.merging").mkdir()
        job = self.job(2, "true")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        job = self.job(2, PROGRAM, "idle", "0")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"^horovodrun: cannot merge the ranks' timelines, which stay "
                                     r"in .*timeline.json.rank\*: .*: Is a directory\n$")
        for part in ("timeline.json", "timeline.json.rank1"):
            json.loads((self.folder / part).read_text())

    def test_files_are_merged_by_hand(self):
        for rank in range(2):
            (self.folder / f"of{rank}").mkdir()
        job = jobs.run(2, "--timeline-filename", str(self.folder / "of{rank}" / "t.json"),
                       PROGRAM, "late", "-1")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        merge = subprocess.run(
            [*jobs.HOROVODRUN[:1], "--merge-timelines", self.path,
             *self.folder.glob("of*/t.json")], text=True, capture_output=True, timeout=60)
        self.assertEqual((merge.returncode, merge.stdout, merge.stderr), (0, "", ""))
        self.assertIn("rank 1 allreduce.awaited", read(self.path))
        merge = subprocess.run([*jobs.HOROVODRUN[:1], "--merge-timelines", self.path],
                                    text=True, capture_output=True, timeout=60)
        self.assertEqual(merge.returncode, 2)


if __name__ == "__main__":
    unittest.main()
