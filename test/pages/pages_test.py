# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes in a page, and holds pages.py and write_source.py to finding them."""

import pathlib
import tempfile
import unittest

import pages
import write_source

PAGE = """# A page

<!-- snippet: whole_program -->
```cpp
#include <string>

int main() { return std::string("a").size() == 1 ? 0 : 1; }
```

<!-- not run: takes a week -->
```sh
./train
```

```json
{"nobody": "runs this"}
```

<!-- snippet: part -->
```cpp
use(text);
```
"""
CONTEXT = """struct Common {};
struct part : Common {};
"""


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def mistakes(self, text):
        (self.root / "README.md").write_text(text)
        return list(pages.mistakes(self.root))

    def test_blocks_with_a_name_or_a_reason_pass(self):
        self.assertEqual(self.mistakes(PAGE), [])
        self.assertEqual([block.place for block in pages.snippets(self.root, "cpp")],
                         ["README.md:5", "README.md:21"])

    def test_a_block_with_neither_is_reported_by_its_line(self):
        for line in ("<!-- snippet: part -->\n", "<!-- not run: takes a week -->\n"):
            found, = self.mistakes(PAGE.replace(line, ""))
            self.assertRegex(found, r"README.md:(11|12|20|21): a block of (cpp|sh)")

    def test_a_language_has_several_names(self):
        text = PAGE.replace("```cpp", "```c++").replace("<!-- snippet: part -->\n", "")
        found, = self.mistakes(text)
        self.assertIn("a block of cpp", found)

    def test_a_block_runs_where_a_test_runs_blocks(self):
        for where, count in (("hosts", 0), ("moon", 1)):
            text = PAGE.replace("not run: takes a week", f"snippet on {where}: on_it")
            self.assertEqual(len(self.mistakes(text)), count, where)
        self.assertEqual(self.mistakes(PAGE.replace("snippet: part", "snippet on hosts: part"))[0]
                         .partition(":")[0], "README.md")
        (self.root / "README.md").write_text(PAGE.replace("not run: takes a week",
                                                          "snippet on hosts: on_it"))
        self.assertEqual(pages.snippets(self.root, "sh"), [])
        found, = pages.snippets(self.root, "sh", "hosts")
        self.assertEqual(found.name, "on_it")

    def test_no_reason_is_no_reason(self):
        self.assertEqual(len(self.mistakes(PAGE.replace("takes a week", " "))), 1)

    def test_a_name_is_given_once_and_can_be_a_function(self):
        found, = self.mistakes(PAGE.replace("whole_program", "part"))
        self.assertIn("README.md:5 and README.md:21", found)
        self.assertEqual(len(self.mistakes(PAGE.replace("whole_program", "whole-program"))), 1)

    def test_the_source_has_every_snippet_in_its_context_and_at_its_line(self):
        (self.root / "README.md").write_text(PAGE)
        context = self.root / "context.h"
        context.write_text(CONTEXT)
        text = write_source.source(pages.snippets(self.root, "cpp"), context, "cpp")
        self.assertIn('#line 21 "README.md"\nuse(text);', text)
        self.assertIn("struct Snippet_part : part {", text)
        self.assertIn("return program_whole_program::main();", text)
        self.assertLess(text.index("#include <string>"), text.index("namespace program_"))


if __name__ == "__main__":
    unittest.main()
