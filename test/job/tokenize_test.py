# SPDX-License-Identifier: Apache-2.0
"""The example tokenize, with the tokenizers of test/fixtures."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures" / "tokenizers"


def tokenize(*arguments):
    command = [os.environ["TOKENIZE"], *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


class Tokenize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.text = pathlib.Path(folder.name) / "text"
        self.output = pathlib.Path(folder.name) / "tokens"

    def test_writes_the_ids_of_a_text_and_the_end_token(self):
        cases = (FIXTURES / "gpt2.cases").read_text().splitlines()
        text, *ids = next(case.split() for case in cases if case.startswith(b"Hello,".hex()))
        self.text.write_bytes(bytes.fromhex(text))
        done = tokenize(
            FIXTURES / "gpt2.json", self.text, self.output, "--end-token", "<|endoftext|>"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        content = self.output.read_bytes()
        found = struct.unpack(f"<{len(ids) + 1}H", content[16:-16])
        self.assertEqual(list(found[:-1]), [int(each) for each in ids])
        self.assertEqual(struct.unpack("<Q", content[-16:-8])[0], len(found))

    def test_names_a_file_that_is_no_tokenizer_and_writes_nothing(self):
        self.text.write_text("text")
        done = tokenize(self.text, self.text, self.output)
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(self.text), done.stderr)
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
