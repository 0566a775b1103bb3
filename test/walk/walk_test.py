#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""walk.py counts correctly, and finds differences."""

import unittest

import walk

DUMP = """\
version: 1
fl=(1) /src/horovodpp/runtime/job.cc
fn=(1) hvd::Job::submit()
10 5
+1 2
fi=(2) /src/horovodpp/core/mutex.h
20 1
fe=(1)
cfi=(3) /src/horovodpp/coordinator/tensor_queue.cc
cfn=(2) hvd::TensorQueue::push()
calls=1 30
12 100
13 3

fl=(3)
fn=(2)
30 7
fl=(4) /usr/include/c++/12/bits/vector.h
fn=(3) std::vector::push_back()
1 9
"""

PAGE = """\
## Before
| 1 | `a.cc` | x |
## One allreduce

| # | file | does |
|---|---|---|
| 1 | `runtime/job.cc` | x `y.h` |
| 2 | `coordinator/tensor_queue.cc` | x |

On the way the call passes through, for a line or two each:
`core/clock.cc`, `core/shape.cc`.

Not so `c.cc`.

## After
| 3 | `b.cc` | x |
"""
TABLE = ["runtime/job.cc", "coordinator/tensor_queue.cc"]


class WalkTest(unittest.TestCase):

    def test_counts_own_costs_by_file_including_inlined_code(self):
        seen = walk.Walk(DUMP.splitlines())
        self.assertEqual(seen.instructions, 5 + 2 + 1 + 3 + 7 + 9)
        self.assertEqual(dict(seen.sources), {
            "runtime/job.cc": 10, "core/mutex.h": 1, "coordinator/tensor_queue.cc": 7})
        self.assertEqual(seen.functions, {"hvd::Job::submit()", "hvd::TensorQueue::push()"})

    def test_reads_the_table_and_the_paragraph_of_its_section(self):
        self.assertEqual(walk.told(PAGE), (TABLE, ["core/clock.cc", "core/shape.cc"]))

    def test_finds_differences(self):
        seen = walk.Walk(DUMP.splitlines())
        self.assertEqual(walk.complaints(seen, TABLE, []), [])
        self.assertEqual(walk.complaints(seen, TABLE[:1], TABLE[1:]), [])
        self.assertEqual(len(walk.complaints(seen, TABLE[:1], [])), 1)
        self.assertEqual(len(walk.complaints(seen, TABLE, ["x.cc"])), 1)
        self.assertEqual(len(walk.complaints(seen, TABLE, TABLE)), 2)

    def test_finds_a_walk_that_is_too_long(self):
        seen = walk.Walk(DUMP.splitlines())
        names = [f"runtime/f{i}.cc" for i in range(walk.MOST_SOURCES - 1)]
        for name in names:
            seen.sources[name] = 1
        found = walk.complaints(seen, TABLE, names)
        self.assertEqual(len(found), 1)

    def test_finds_a_table_that_is_too_long(self):
        seen = walk.Walk(DUMP.splitlines())
        names = [f"runtime/f{i}.cc" for i in range(walk.MOST_TOLD - 1)]
        for name in names:
            seen.sources[name] = 1
        self.assertEqual(walk.complaints(seen, TABLE, names), [])
        self.assertEqual(len(walk.complaints(seen, TABLE + names, [])), 1)


if __name__ == "__main__":
    unittest.main()
