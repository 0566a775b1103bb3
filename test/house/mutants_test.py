# SPDX-License-Identifier: Apache-2.0
"""How test/mutants reads its list and the output of test programs."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mutants"))
import mutants  # noqa: E402
import run  # noqa: E402

LIST = """\
# A comment.

[one more]
file core/a.cc
test core_test A.*
- n < size
+ n <= size

[no bell]
file core/a.cc
test core_test A.*:B.*
-   count = n;
-   ring();
+   count = n;

[no end]
file core/a.cc
test core_test B.*
- stop();
"""
SOURCE = """\
bool f(int n) {
  if (n < size) stop();
  count = n;
  ring();
}
"""
REWRITTEN = """\
#include "horovodpp/hvd_mutant.h"
bool f(int n) {
  if ((hvd_mutant(1) ? (n <= size) : (n < size))) { if (hvd_mutant(3)) {  } else { stop(); } }
{ if (hvd_mutant(2)) {   count = n; } else {   count = n;
  ring(); } }
}
"""


def run_shell(script, limit=60):
    return run.Watched(["sh", "-c", script], dict(os.environ), limit).result()


class Lists(unittest.TestCase):
    def test_are_read(self):
        one, bell, end = mutants.parse(LIST)
        self.assertEqual((one.number, one.name, one.file), (1, "one more", "core/a.cc"))
        self.assertEqual((bell.program, bell.cases), ("core_test", "A.*:B.*"))
        self.assertEqual(bell.original, "  count = n;\n  ring();")
        self.assertEqual([one.is_statement, bell.is_statement, end.is_statement],
                         [False, True, True])
        self.assertEqual(end.mutated, "")

    def test_with_mistakes_are_refused(self):
        for text in ["- before a name", "[a]\nfile f\n- x;", "[a]\nfile f\ntest t A.*\n- x",
                     "[a]\nnonsense", LIST + LIST]:
            with self.assertRaises(mutants.ListError):
                mutants.parse(text)


class Sources(unittest.TestCase):
    def test_choose_between_all_mutants(self):
        self.assertEqual(mutants.rewritten(SOURCE, mutants.parse(LIST)), REWRITTEN)

    def test_sources_without_exactly_one_match_are_refused(self):
        for source in ["", SOURCE + SOURCE]:
            with self.assertRaises(mutants.ListError):
                mutants.rewritten(source, mutants.parse(LIST))

    def test_overlapping_mutants_are_refused(self):
        both = LIST + "[again]\nfile core/a.cc\ntest core_test A.*\n- if (n < size) stop();\n"
        with self.assertRaises(mutants.ListError):
            mutants.rewritten(SOURCE, mutants.parse(both))

    def test_unchanged_files_are_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a" / "b.cc"
            run.put(path, b"text")
            os.utime(path, ns=(1, 1))
            run.put(path, b"text")
            self.assertEqual(path.stat().st_mtime_ns, 1)
            run.put(path, b"other text")
            self.assertEqual(path.read_bytes(), b"other text")


class Outcomes(unittest.TestCase):
    FAILS = "echo '[ RUN      ] A.B/0'; echo '/root/test/core/a_test.cc:12: Failure'; "

    def test_a_failed_assertion_kills_despite_later_output(self):
        for rest in ["exec sleep 1000", "kill -SEGV $$", "exit 0"]:
            result = run_shell(self.FAILS + rest)
            self.assertEqual((result.outcome, result.by),
                             ("killed", "A.B/0 (test/core/a_test.cc:12)"))

    def test_a_crash_or_an_exception_does_not_kill(self):
        self.assertEqual(run_shell("kill -SEGV $$").outcome, "crashed")
        result = run_shell("echo '[ RUN      ] A.B'; echo 'unknown file: Failure'; exit 1")
        self.assertEqual((result.outcome, result.by), ("crashed", "code 1, last in A.B"))

    def test_a_hang_does_not_kill(self):
        result = run_shell("echo '[ RUN      ] A.B'; exec sleep 1000", limit=0.2)
        self.assertEqual(result.outcome, "hung")

    def test_a_mutant_survives_despite_a_living_child(self):
        self.assertEqual(run_shell("sleep 1000 & exit 0").outcome, "survived")


class Table(unittest.TestCase):
    def test_has_a_row_for_each_folder_and_one_for_all(self):
        one, bell, _ = mutants.parse(LIST.replace("core/a.cc", "horovodpp/core/a.cc"))
        results = [run.Result("killed", "A.B", 1.0), run.Result("hung", "", 60.0)]
        rows = run.table([one, bell], results).splitlines()
        self.assertEqual(rows[2], "| core | 2 | 1 | 0 | 0 | 1 | 30.5 s | 60.0 s |")
        self.assertTrue(rows[3].startswith("| **all** | 2 | 1 |"))


if __name__ == "__main__":
    unittest.main()
