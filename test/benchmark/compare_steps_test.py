# SPDX-License-Identifier: Apache-2.0
"""compare_steps.py: the table that it makes from the programs' output."""
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("compare_steps",
                                              ROOT / "scripts" / "compare_steps.py")
steps = importlib.util.module_from_spec(spec)
spec.loader.exec_module(steps)

CPP = """\
resnet18 x1 alone                                            50.000 ms  x 1.000   processor     50.000 ms  x 1.000
resnet18 x1 all ranks, each for itself                       55.000 ms  x 1.100   processor     50.000 ms  x 1.000
resnet18 x1 distributed                                      51.000 ms  x 1.019   processor     50.000 ms  x 1.000
mlp x4     all ranks, each for itself                       55.000 ms  x 1.050   processor     50.000 ms  x 1.000
mlp x4     distributed                                      60.000 ms  x 1.200   processor     50.000 ms  x 1.000
resnet50   arena: reduce, average                           10.000 ms  x 0.400   processor     50.000 ms  x 1.000
gpt2       AdamW, all ranks at once                        257.714 ms  x 1.934   processor     50.000 ms  x 1.000
gpt2       arena: reduce, average, AdamW                   204.962 ms  x 2.605   processor     50.000 ms  x 1.000
gpt2       sharded: reduce, average, AdamW                 220.873 ms  x 2.004   processor     50.000 ms  x 1.000
hooks      SGD: backward and step                           20.000 ms  x 1.000   processor     50.000 ms  x 1.000
hooks      distributed: backward and step                   52.000 ms  x 2.600   processor     50.000 ms  x 1.000
hooks      calls: prepared by name, and waited for          24.000 ms  x 1.200   processor     50.000 ms  x 1.000
hooks      a parameter's part of a step is a 40000-th of each line
check      reduce, AdamW                                   100.000 ms  x 1.000   processor     50.000 ms  x 1.000
check      and the parameters compared (every 100th step)    140.000 ms  x 1.400   processor     50.000 ms  x 1.000
clip       SGD along reduced gradients                      12.000 ms  x 1.000   processor     50.000 ms  x 1.000
clip       and their norm                                   16.000 ms  x 1.333   processor     50.000 ms  x 1.000
recompute  kept                                             300.000 ms  x 1.000   processor     50.000 ms  x 1.000
recompute  recomputed                                       309.000 ms  x 1.030   processor     50.000 ms  x 1.000
"""

TORCH = """\
4 B, waited for    horovodpp               6.00 us  (5.90 to 6.10)
4 B, waited for    gloo                  280.00 us  (270.00 to 290.00)
256 B, submission  horovodpp               5.50 us  (5.00 to 6.00)
ResNet-50's set    arena                  10.50 ms  (10.00 to 11.00)
MLP                horovodpp             100.00 ms  (99.00 to 101.00)  1.040 x
MLP                DDP over gloo         150.00 ms  (149.00 to 151.00)  1.580 x
ResNet-18          horovodpp             100.00 ms  (99.00 to 101.00)  1.260 x
ResNet-18          DDP over gloo         150.00 ms  (149.00 to 151.00)  1.520 x
"""


class CompareSteps(unittest.TestCase):
    def test_says_which_targets_hold(self):
        own = steps.of_cpp(CPP)
        rows = [*steps.rows_of_cpp(own), *steps.rows_of_torch(steps.of_torch(TORCH), own)]
        holds = [row.cells()[3] for row in rows]
        self.assertEqual(holds, ["no", "no", "yes", "no", "yes", "yes", "", "yes",
                                 "yes", "no", "yes", "no", "yes"])
        text = steps.table(rows)
        self.assertIn("for a parameter | 0.8 µs | ≤ 1 µs | yes | calls by name alone: 0.6 µs",
                      text)
        self.assertIn("| 0.4 % | ≤ 0.5 % | yes |", text)
        self.assertIn("| 1.26 × | ≤ 1.05 × | no | DDP over gloo: 1.52 × |", text)

    def test_writes_the_table_to_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(f"before\n{steps.BEGIN}\nold\n{steps.END}\nafter\n")
            steps.write(path, "new")
            self.assertEqual(path.read_text(),
                             f"before\n{steps.BEGIN}\n\nnew\n\n{steps.END}\nafter\n")
        page = (ROOT / "docs" / "benchmarks.md").read_text()
        self.assertEqual((page.count(steps.BEGIN), page.count(steps.END)), (1, 1))


if __name__ == "__main__":
    unittest.main()
