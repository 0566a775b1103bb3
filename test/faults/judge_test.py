# SPDX-License-Identifier: Apache-2.0
"""Tests which outcomes the judge rejects and which it accepts."""

import sys
import unittest

import job
import judge
import kinds


def event(kind, rank, seconds, text=""):
    return {"event": kind, "rank": rank, "pid": 100 + rank, "host": "here",
            "ns": int(seconds * 1e9), "text": text}


def lost(rank, pid=None):
    return f"rank {rank} (host 'here', pid {pid or 100 + rank}) ended without a word"


class Judge(unittest.TestCase):
    """A job of three ranks that lost rank 1 by SIGKILL and ended correctly; tests change it."""

    def setUp(self):
        self.case = kinds.Case("SIGKILL", 3, [1], 0, inject=lambda job: None,
                               expect=kinds.Expectation({1}, {137}, "signal 9"))
        self.outcome = job.Outcome(
            3, events=[*(event("started", rank, 1) for rank in range(3)),
                       event("error", 0, 5.01, lost(1)), event("error", 2, 5.02, lost(1))],
            rank_ends={101: 5.001, 100: 5.3, 102: 5.4}, fault_at=5, ended_at=5.6,
            returncode=137,
            stderr="noise\nhorovodrun: rank 1 on host 'here' (pid 101) was killed by "
                   "signal 9 (Killed)\n")

    def judge(self):
        return judge.judge(self.case, self.outcome)

    def only(self, wrong):
        """Expects exactly this complaint."""
        found = {name for name in judge.WRONGS if getattr(self.judge(), name)}
        self.assertEqual(found, {wrong})

    def test_finds_no_fault_in_a_correct_outcome(self):
        judgement = self.judge()
        self.assertEqual(judgement.faults(), [])
        self.assertAlmostEqual(judgement.until_told, 0.02, places=6)
        self.assertAlmostEqual(judgement.launcher_after, 0.2, places=6)

    def test_a_survivor_without_an_error(self):
        del self.outcome.events[-1]
        self.only("untold")

    def test_a_survivor_that_ended_itself_and_has_said_why(self):
        del self.outcome.events[-1]
        words = f"[2026-01-31 12:34:56.789012: E] [2]: {lost(1)}; MPI does not return " \
                "from looking for mail, so this process cannot go on, and ends\n"
        self.outcome.stderr = words + self.outcome.stderr
        judgement = self.judge()
        self.assertEqual(judgement.faults(), [])
        self.assertAlmostEqual(judgement.until_told, 0.4, places=6)
        self.outcome.stderr = self.outcome.stderr.replace(lost(1), lost(0))
        self.only("wrong")

    def test_a_survivor_that_open_mpi_ended(self):
        del self.outcome.events[-2]  # The error of rank 0, which ends first.
        self.outcome.events[-1]["text"] = lost(0)
        self.outcome.returncode = 255
        self.outcome.stderr = "horovodrun: rank 0 on host 'here' exited with code 255\n"
        self.assertGreater(len(self.judge().faults()), 1)
        self.outcome.stderr = ("[here:100] ../ompi/mca/pml/ob1/pml_ob1_sendreq.c:190 FATAL\n"
                               + self.outcome.stderr)
        self.assertEqual(self.judge().faults(), [])
        self.outcome.processes = ["a process"]
        self.only("left")

    def test_errors_that_name_another_rank_or_pid_or_none(self):
        for text in (lost(0), "something broke", lost(1, pid=7)):
            with self.subTest(text):
                self.outcome.events[-1]["text"] = text
                self.only("wrong")

    def test_a_last_line_that_names_a_survivor(self):
        self.outcome.stderr = "horovodrun: rank 2 on host 'here' was killed by signal 9\n"
        self.only("wrong")

    def test_an_exit_code_of_a_survivor(self):
        self.outcome.returncode = 5
        self.only("wrong")

    def test_a_survivor_that_does_not_leave(self):
        self.outcome.rank_ends[102] = self.outcome.ended_at = 5.02 + 4.5
        self.only("hangs")

    def test_a_launcher_that_does_not_end(self):
        self.outcome.returncode, self.outcome.ended_at = None, 0
        self.only("hangs")

    def test_a_launcher_that_is_late(self):
        self.outcome.ended_at = 6.5
        self.only("late")

    def test_a_stall_that_is_late_to_end(self):
        self.case.expect.ends_in = 0.5
        self.only("late")

    def test_files_left_behind(self):
        self.outcome.files = ["/dev/shm/segment"]
        self.only("left")

    def test_a_fault_that_could_not_be_done(self):
        self.outcome.fault_at = 0
        self.only("hangs")

    def test_each_side_of_a_cut_wire_blames_the_other(self):
        self.case.victims = []
        self.case.expect = kinds.Expectation({2}, across=True, host=True)
        self.outcome.second_host = ["there", "10.0.0.2"]
        self.outcome.events[3:] = [event("error", 0, 6, lost(2)),
                                   event("error", 1, 6, lost(2)),
                                   event("error", 2, 6, lost(0))]
        self.outcome.rank_ends = {100: 6.1, 101: 6.1, 102: 6.1}
        self.outcome.ended_at = 6.2
        self.outcome.stderr = "horovodrun: host 'there' was lost\n"
        self.assertEqual(self.judge().faults(), [])
        self.outcome.events[-1]["text"] = lost(2)
        self.only("wrong")

    def test_a_job_without_a_fault(self):
        self.case.expect = kinds.Expectation(told=False, ends_well=True)
        self.outcome.events = self.outcome.events[:3]
        self.outcome.returncode, self.outcome.stderr = 0, ""
        self.assertEqual(self.judge().faults(), [])
        self.outcome.returncode = 137
        self.only("wrong")


class Cases(unittest.TestCase):
    def test_are_the_same_for_the_same_seed(self):
        for kind in kinds.HERE + kinds.BETWEEN:
            one, other = kinds.case_of(kind, 7), kinds.case_of(kind, 7)
            self.assertEqual((one.ranks, one.victims, one.options, one.environment),
                             (other.ranks, other.victims, other.options,
                              other.environment))

    def test_have_survivors_unless_all_ranks_are_ended(self):
        for kind in kinds.HERE + kinds.BETWEEN:
            for seed in range(50):
                case = kinds.case_of(kind, seed)
                self.assertTrue(case.survivors() or not case.expect.told, kind.name)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
