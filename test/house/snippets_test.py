# SPDX-License-Identifier: Apache-2.0
"""Plants a mistake in a page and holds snippets.py to finding it there."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("snippets.py")
PAGE = """# A page

```cpp
#include <string>

int main() { return std::string("a").size() == 1 ? 0 : 1; }
```

```sh
not C++
```

```cpp
const std::string text = "b";
%s
```
"""


def check(statement):
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root)
        (folder / "README.md").write_text(PAGE % statement)
        return subprocess.run(
            [sys.executable, TOOL, folder, "--compiler", os.environ.get("CXX", "c++")],
            capture_output=True,
            text=True,
        )


class Snippets(unittest.TestCase):
    def test_pages_that_compile_pass(self):
        result = check("text.size();")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 snippets", result.stdout)

    def test_a_mistake_is_found_where_it_stands(self):
        result = check("text.sise();")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("README.md:15:", result.stderr)

    def test_a_page_without_any_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "README.md").write_text("```cpp-like\n```\n")
            command = [sys.executable, TOOL, root, "--compiler", "false"]
            self.assertEqual(subprocess.run(command, capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main()
