# SPDX-License-Identifier: Apache-2.0
"""Plants violations in a small contract and its tests, and expects contract.py to find them."""

import pathlib
import tempfile
import unittest

import contract

PAGE = """# A contract

1. An operation records itself.
2. Sums are sums,
   in 3 dimensions, too.

## More

3. *Not built.* Everything else.
4. *By type.* A number is a number.
5. Products.
"""
TEST = """// Items 1, 2 and 5 of the contract.
TEST(A, B) { say("Item 7"); }
"""


def found_in(page=PAGE, test=TEST):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {contract.PAGE: page, "test/autograd/a_test.cc": test}.items():
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return list(contract.violations(root))


class Contract(unittest.TestCase):
    def test_tests_that_cite_every_item_are_no_violation(self):
        self.assertEqual(found_in(), [])
        self.assertEqual(found_in(test=TEST + "// Said otherwise. Item 4: so.\n"), [])

    def test_a_citation_of_no_item_is_found_where_it_stands(self):
        self.assertEqual(
            found_in(test=TEST + "// Items 5, 6.\n"),
            ["test/autograd/a_test.cc:3: cites item 6, which docs/autograd_contract.md does not have"],
        )

    def test_a_citation_of_an_unbuilt_item_is_found(self):
        (found,) = found_in(test=TEST + "// Item 3.\n")
        self.assertIn("a_test.cc:3: cites item 3, which is not built", found)

    def test_an_item_that_no_test_cites_is_found(self):
        (found,) = found_in(test="// Items 1 and 2.\n// In item 5 nothing is cited.\n")
        self.assertEqual(found, "docs/autograd_contract.md:11: no test cites item 5")

    def test_a_missing_or_repeated_number_is_found(self):
        for wrong in [PAGE.replace("2. S", "3. S"), PAGE.replace("5. P", "4. P"), PAGE + "7. Q\n"]:
            (found,) = found_in(page=wrong)
            self.assertIn("belongs", found)

    def test_a_page_without_items_is_found(self):
        self.assertIn("docs/autograd_contract.md: has no item", found_in(page="# Empty\n"))


if __name__ == "__main__":
    unittest.main()
