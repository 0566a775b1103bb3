# SPDX-License-Identifier: Apache-2.0
"""The rows of scripts/checkpoint_table.py, without measurements."""

import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import checkpoint_table  # noqa: E402
from checkpoint_table import Contender  # noqa: E402

STAND_IN = """
import sys
if sys.argv[2] == "budget=1%":
    sys.exit("model_benchmark: no checkpoint plan of these 9 stages fits 5 bytes; "
             "the least that is needed is 524288 bytes")
if sys.argv[2] == "budget=2%":
    sys.exit("model_benchmark: something else")
for line in sys.stdin:
    if line.strip() == "memory":
        print('{"step_bytes": 1048576, "plan": "0 1", "trace": [[0, 0]]}', flush=True)
    else:
        print('{"seconds": [0.01], "cpu_seconds": [0.01], "loss": 1.0}', flush=True)
"""


def way(how, cpu_seconds=()):
    def contender(command):
        return Contender([sys.executable, "-c", STAND_IN, *command[1:]])

    with unittest.mock.patch("checkpoint_table.Contender", contender):
        made = checkpoint_table.Way("program", "model", how)
    made.contender.cpu_seconds = list(cpu_seconds)
    return made


class Rows(unittest.TestCase):
    def test_a_budget_that_no_plan_keeps_to_says_the_least_that_one_does(self):
        ways = [way("none", [0.01]), way("budget=50%", [0.02]), way("budget=1%")]
        self.assertEqual(
            list(checkpoint_table.rows("model", ways, {})),
            ["| `model` | `none` | 10.0 | +0.0% | 1.0 | 100% |  |",
             "| `model` | `budget=50%` | 20.0 | +100.0% | 1.0 | 100% |  |",
             "| `model` | `budget=1%` | no plan keeps to it | at the least: | 0.5 | 50% | |"])
        self.assertEqual(checkpoint_table.feasible(ways), ways[:2])
        for each in ways[:2]:
            each.contender.finish()

    def test_another_error_is_one(self):
        with self.assertRaisesRegex(SystemExit, "something else"):
            way("budget=2%")

    def test_segments_are_those_of_the_library(self):
        self.assertEqual(checkpoint_table.segments_plan(10, 3), "(0 1 2) (3 4 5) 6 7 8 9")

    def test_a_trace_keeps_the_extremes_of_each_interval(self):
        one = unittest.mock.Mock(memory={"trace": [[0, 0], [0.1, 3 << 20], [0.2, 1 << 20],
                                                   [0.7, 2 << 20], [1, 0]]})
        self.assertEqual(list(checkpoint_table.trace(one, intervals=2)),
                         [(0.0, 0.0), (100.0, 3.0), (700.0, 2.0), (1000.0, 0.0)])


if __name__ == "__main__":
    unittest.main()
