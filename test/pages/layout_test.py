# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes in a page, and holds layout.py to finding them."""

import unittest

import layout

LONG = "word " * 25


class Layout(unittest.TestCase):
    def numbers(self, *lines):
        return [number for number, _ in layout.mistakes("\n".join(lines))]

    def test_finds_long_lines_of_text_and_code(self):
        self.assertEqual(self.numbers("short", LONG), [2])
        self.assertEqual(self.numbers("```cpp", LONG, "```", LONG), [2, 4])

    def test_lets_tables_headings_comments_output_and_addresses_be_long(self):
        self.assertEqual(self.numbers(f"| {LONG} |", f"## {LONG}", f"<!-- {LONG} -->"), [])
        self.assertEqual(self.numbers("[x](https://" + 100 * "x" + ")"), [])
        self.assertEqual(self.numbers("```text", LONG, "```"), [])

    def test_finds_a_column_without_a_name(self):
        self.assertEqual(self.numbers("| | time |", "|---|---|", "| a | |"), [1])
        self.assertEqual(self.numbers("| call | time |", "|---|---:|", "| a | |"), [])


if __name__ == "__main__":
    unittest.main()
