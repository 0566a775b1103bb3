# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes, and holds messages.py to finding them."""

import pathlib
import tempfile
import unittest

import messages

SOURCE = '''
fail(absl::StrCat("there are ", count, " ranks too many; "
                  "start \\"fewer\\" of them"));
other("a text of another kind");
const char* name = "HOROVODPP_FEWER";
'''


class Messages(unittest.TestCase):
    def mistakes(self, message, page="See `HOROVODPP_FEWER`."):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("docs", "horovodpp"):
                (root / name).mkdir()
            (root / "README.md").write_text(page)
            (root / "docs" / "troubleshooting.md").write_text(f"### `{message}`\n")
            (root / "horovodpp" / "a.cc").write_text(SOURCE)
            (root / "horovodpp" / "b.cc").write_text('say("a text of a third kind");')
            return list(messages.mistakes(root))

    def test_messages_of_the_sources_pass(self):
        self.assertEqual(self.mistakes("there are … ranks too many; start \"fewer\" of them"), [])

    def test_an_unknown_message_is_found(self):
        self.assertEqual(len(self.mistakes("there are … ranks too few; start more of them")), 1)

    def test_pieces_are_of_one_source(self):
        self.assertEqual(len(self.mistakes("a text of another kind … a text of a third kind")), 1)

    def test_a_too_common_text_is_no_message(self):
        found, = self.mistakes("there are …")
        self.assertIn("too little", found)

    def test_unread_settings_are_found(self):
        found, = self.mistakes("a text of another kind", "See `HOROVODPP_MORE`.")
        self.assertIn("README.md: nothing reads HOROVODPP_MORE", found)


if __name__ == "__main__":
    unittest.main()
