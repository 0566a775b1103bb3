# SPDX-License-Identifier: Apache-2.0
"""compare_with_peers.py: the processing of measurements and, if there is a build, a run of
two rows. Times are not checked."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jobs
import rows
import table

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "compare_with_peers.py"
WORK = re.compile(r"[a-z]+\.[a-z]+:\d+(x\d+)?")


def row(**changes):
    fields = {"setting": "two", "name": "barrier", "own": "barrier.name:0",
              "peers": "barrier.each:0", "target": rows.Target(2), **changes}
    return rows.Row(**fields)


def results_of(one, own, mpi, cma):
    results = table.Results(["horovodpp", "MPI", "MPI, CMA"])
    for name, values in (("horovodpp", own), ("MPI", mpi), ("MPI, CMA", cma)):
        for value in values:
            results.add(name, {one: value})
    return results


class Rows(unittest.TestCase):
    def test_each_is_a_work_of_a_setting_and_has_a_name_of_its_own(self):
        for one in rows.ROWS:
            self.assertIn(one.setting, rows.SETTINGS)
            for work in (one.own, one.peers):
                self.assertTrue(work.split()[0] == rows.HELLO or WORK.fullmatch(work), work)
            if one.target and one.target.reference == "memcpy":
                self.assertRegex(one.memcpy, WORK)
        names = [(one.setting, one.name) for one in rows.ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(rows.ROWS), len(set(rows.ROWS)))

    def test_times_have_three_digits(self):
        self.assertEqual([rows.in_words(us) for us in (0.123, 1.234, 999.7, 12_345, 2_500_000)],
                         ["0.12 µs", "1.23 µs", "1 ms", "12.3 ms", "2.5 s"])


class Measurements(unittest.TestCase):
    def test_a_job_is_as_fast_as_its_slowest_rank_in_most_samples(self):
        ranks = [{"first_us": 9, "us": [1, 2, 30]}, {"first_us": 8, "us": [3, 1, 2]}]
        self.assertEqual(jobs.combine(ranks, is_first=False), 3)
        self.assertEqual(jobs.combine(ranks, is_first=True), 9)

    def test_an_unmeasured_row_has_no_time(self):
        ranks = [{"first_us": 1, "us": []}] * 2
        self.assertIsNone(jobs.combine(ranks, is_first=False))
        self.assertIsNone(jobs.combine(ranks, is_first=True))

    def test_a_missing_value_has_a_reason(self):
        job = jobs.Job(jobs.Contender("MPI"), rows.SETTINGS["two"], None, 1)
        ranks = [{"a": {"first_us": 1, "us": []}}, {}]
        self.assertEqual(jobs.value_of(job, ranks, "a", False), "not measured")
        job.failure = "not done in 1 s"
        self.assertEqual(jobs.value_of(job, ranks, "a", False), "not done in 1 s")
        self.assertEqual(jobs.value_of(job, [ranks[0]] * 2, "a", False), "no such call")

    def test_an_unfit_python_gives_its_reason(self):
        self.assertEqual(jobs.why_not(sys.executable, "import json"), "")
        self.assertEqual(jobs.why_not(sys.executable, "assert False, 'no gloo'"),
                         "AssertionError: no gloo")
        self.assertIn("No such file", jobs.why_not("/nowhere/python", "pass"))


class Table(unittest.TestCase):
    def test_ratios_are_those_to_the_better_mpi_round_by_round(self):
        one = row()
        results = results_of(one, own=[2, 40, 6], mpi=[100, 100, 100], cma=[1, 10, 4])
        self.assertEqual(results.ratios(one), [2, 4, 1.5])
        self.assertTrue(results.holds(one))
        self.assertIn("| 2.00 | ≤ 2 × MPI | yes |", table.line(one, results, {}))

    def test_a_target_that_is_missed_says_no(self):
        one = row(target=rows.Target(1, "MPI", 20))
        self.assertFalse(results_of(one, own=[31], mpi=[10], cma=[11]).holds(one))
        self.assertTrue(results_of(one, own=[30], mpi=[10], cma=[11]).holds(one))
        absolute = row(target=rows.Target(0, "", 30))
        self.assertFalse(results_of(absolute, own=[31], mpi=[], cma=[]).holds(absolute))

    def test_targets_hold_by_the_median_ratio(self):
        one = row(target=rows.Target(1, "MPI"))
        results = results_of(one, own=[14, 1], mpi=[10, 10], cma=[99, 99])
        self.assertTrue(results.holds(one))
        # A lower sum, but a higher median ratio.
        results = results_of(one, own=[15, 30], mpi=[10, 50], cma=[99, 99])
        self.assertIn("| 1.05 | ≤ 1 × MPI | no", table.line(one, results, {}))

    def test_copies_are_the_reference_where_the_row_says_so(self):
        one = row(target=rows.Target(1, "memcpy"), memcpy="memory.copy:64")
        results = results_of(one, own=[6], mpi=[100], cma=[100])
        results.add("MPI", {one.memcpy: 5})
        results.add("MPI, CMA", {one.memcpy: 6})
        self.assertEqual(results.ratios(one), [1.2])
        self.assertFalse(results.holds(one))

    def test_the_wire_is_the_reference_where_the_row_says_so(self):
        one = next(one for one in rows.ROWS if (one.setting, one.name) ==
                   ("three", "allreduce 4 MiB"))
        # Four thirds of the bytes leave each of three hosts, and as many
        # arrive.
        self.assertAlmostEqual(one.wire_us, 4 / 3 * 4 * rows.MIB * 8 / 1e3)
        results = results_of(one, own=[one.wire_us, 2 * one.wire_us], mpi=[1, 1], cma=[1, 1])
        self.assertEqual(results.ratios(one), [1, 2])
        self.assertFalse(results.holds(one))
        self.assertIn("| 1.50 | ≤ 1.05 × wire | no", table.line(one, results, {}))

    def test_missing_rows_stay_in_the_table_with_their_reason(self):
        one, other = row(), row(name="other")
        results = results_of(one, own=["not done in 60 s"], mpi=[1], cma=["no cma"])
        results.add("horovodpp", {other: "not done in 60 s"})
        self.assertFalse(results.holds(one))
        text = table.table([one, other], results, 2, {"gloo": "no torch"})
        self.assertEqual(text.count("— [1] |"), 2)
        self.assertIn("| [1] | not done in 60 s |", text)
        self.assertIn("| [2] | no cma |", text)
        self.assertIn("gloo was not measured: no torch.", text)

    def test_a_missed_target_has_its_reason_beside_it(self):
        one = row(setting="hosts", name="processor time, 2 s idle")
        text = table.table([one], results_of(one, own=[9], mpi=[1], cma=[1]), 2, {})
        self.assertIn("| no [1] |", text)
        self.assertIn(f"| [1] | {rows.LOOKED_AT} |", text)
        text = table.table([one], results_of(one, own=[1], mpi=[1], cma=[1]), 2, {})
        self.assertIn("| yes |", text)
        self.assertNotIn("[1]", text)

    def test_reasons_are_those_of_rows(self):
        names = {(one.setting, one.name) for one in rows.ROWS}
        self.assertLessEqual(set(rows.REASONS), names)

    def test_quartiles_stand_beside_the_median(self):
        self.assertEqual(table.cell([1.0, 2.0, 3.0, 4.0, 5.0], {}), "3 µs (2–4)")
        self.assertEqual(table.cell([900.0, 1000.0, 1100.0], {}), "1 ms (950 µs–1.05)")

    def test_it_replaces_the_old_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.md")
            path.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
            table.write(path, "new")
            self.assertEqual(path.read_text(),
                             f"before\n{table.BEGIN}\n\nnew\n\n{table.END}\nafter\n")
            path.write_text("no table")
            self.assertRaises(SystemExit, table.write, path, "new")

    def test_the_page_has_its_place(self):
        page = (ROOT / "docs" / "benchmarks.md").read_text()
        self.assertEqual((page.count(table.BEGIN), page.count(table.END)), (1, 1))


@unittest.skipUnless("PEERS_BUILD" in os.environ, "there is no build to measure")
class Run(unittest.TestCase):
    def test_two_rows_are_measured_of_ours_and_of_mpi(self):
        command = [sys.executable, SCRIPT, os.environ["PEERS_BUILD"], "--quick", "--ranks", "2",
                   "--rows", "^barrier$|^allgather 64 KiB, into$", "--no-hosts",
                   "--torch-python", "", "--horovod-python", ""]
        job = subprocess.run(command, text=True, timeout=100, capture_output=True,
                             stdin=subprocess.DEVNULL)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        lines = [one.split("|")[1:-1] for one in job.stdout.splitlines() if one.startswith("|")]
        notes = [at for at, one in enumerate(lines) if one[0].strip() == "note"]
        lines = lines[:notes[0]] if notes else lines
        self.assertEqual([one[0].strip() for one in lines],
                         ["2 ranks", "---", "barrier", "allgather 64 KiB, into"])
        for one in lines[2:]:
            for column in one[1:4]:
                self.assertRegex(column, r"^ [\d.]+ (µs|ms) $")
            self.assertRegex(one[4], r"^ [\d.]+ $")
            self.assertRegex(one[-1].strip(), r"^(yes|no( \[\d+\])?)$")
        self.assertIn("gloo was not measured: no Python was given.", job.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
