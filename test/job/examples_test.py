# SPDX-License-Identifier: Apache-2.0
"""The examples, run as in the README, on a slice of the data."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jobs

HELLO = os.environ["HELLO_ALLREDUCE"]
FASHION_MNIST = os.environ["FASHION_MNIST"]
TEXT = os.environ["TEXT"]
TOKENIZE = os.environ["TOKENIZE"]
FILES = pathlib.Path(__file__).parents[2] / "examples" / "cpp" / "fashion_mnist_files.py"
TOKENIZER = pathlib.Path(__file__).parent.parent / "fixtures" / "tokenizers" / "gpt2.json"
DATA = "/usr/share/datasets/fashion-mnist"


class HelloAllreduce(unittest.TestCase):
    def test_every_rank_gets_the_sum(self):
        for ranks in (1, 2, 4):
            job = jobs.run(ranks, HELLO)
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            total = ranks * (ranks + 1) // 2
            self.assertEqual(
                sorted(job.stdout.splitlines()),
                [f"rank {r} of {ranks}: the sum is {total}" for r in range(ranks)])

    def test_a_job_of_one_needs_no_launcher(self):
        job = jobs.subprocess.run([HELLO], text=True, capture_output=True, timeout=60)
        self.assertEqual((job.returncode, job.stdout, job.stderr),
                         (0, "rank 0 of 1: the sum is 1\n", ""))


class Arguments(unittest.TestCase):
    def test_hello_allreduce_prints_its_help(self):
        for option in ("--help", "-h"):
            job = jobs.subprocess.run([HELLO, option], text=True, capture_output=True, timeout=60)
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            self.assertIn("usage:", job.stdout)
            self.assertNotIn("rank 0", job.stdout)

    def test_hello_allreduce_refuses_other_arguments(self):
        job = jobs.subprocess.run([HELLO, "--hello"], text=True, capture_output=True, timeout=60)
        self.assertEqual((job.returncode, job.stdout), (2, ""))
        self.assertIn("usage:", job.stderr)


# Products with another number of threads add in another order, and a job of one
# rank would use more threads.
os.environ["HOROVODPP_NUM_THREADS"] = "1"


class FashionMnist(unittest.TestCase):
    def test_redraws_no_line_in_a_pipe(self):
        job = jobs.subprocess.run([FASHION_MNIST, "--epochs", "1", "--limit", "2000"],
                                  capture_output=True, timeout=120)
        self.assertEqual((job.returncode, job.stderr), (0, b""))
        self.assertNotIn(b"\r", job.stdout)
        self.assertEqual(job.stdout.count(b"100%"), 1)

    def test_reports_each_epoch_once_and_learns(self):
        job = jobs.run(2, FASHION_MNIST, "--epochs", "2", "--limit", "4000")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        accuracies = re.findall(r"test accuracy ([0-9.]+) %", job.stdout)
        self.assertEqual(len(accuracies), 2, job.stdout)
        self.assertGreater(float(accuracies[-1]), 70)
        self.assertEqual(len(re.findall(r"100%  \d+ images/s  tensors \d+ MiB  loss", job.stdout)), 2)

    def test_trains_every_model(self):
        for model, *width in (["lenet"], ["resnet18", "4"], ["resnet50", "4"],
                              ["densenet", "4"], ["swin", "16"], ["vit", "16"], ["gru", "16"]):
            options = ["--width", *width] if width else []
            job = jobs.run(2, FASHION_MNIST, "--model", model, *options, "--augment",
                           "--epochs", "1", "--limit", "256", "--batch-size", "32")
            self.assertEqual((job.returncode, job.stderr), (0, ""), model)
            self.assertRegex(job.stdout, r"100%  \d+ images/s  tensors \d+ MiB  loss")
            self.assertRegex(job.stdout,
                             r"test accuracy [0-9.]+ %, peak memory of a rank \d+ MiB")

    def test_learns_to_remove_noise(self):
        job = jobs.run(2, FASHION_MNIST, "--model", "unet", "--width", "8", "--epochs", "2",
                       "--limit", "512", "--batch-size", "16")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        errors = re.findall(r"test error of the noise ([0-9.]+) of its variance", job.stdout)
        self.assertEqual(len(errors), 2, job.stdout)
        self.assertLess(float(errors[-1]), 0.6)

    def test_other_models_learn_along_the_same_curve_in_two_ranks(self):
        for model, width in (("vit", "16"), ("gru", "16"), ("unet", "8")):
            curves = []
            for ranks, how in ((1, "none"), (2, "none"), (2, "block"), (2, "budget=75%")):
                if (model, how) == ("gru", "budget=75%"):
                    continue  # It has too few stages.
                with tempfile.NamedTemporaryFile() as file:
                    job = jobs.run(ranks, FASHION_MNIST, "--model", model, "--width", width,
                                   "--epochs", "1", "--limit", "320", "--batch-size",
                                   str(16 // ranks), "--checkpoint", how,
                                   "--loss-file", file.name)
                    self.assertEqual((job.returncode, job.stderr), (0, ""), (model, how))
                    with open(file.name) as lines:
                        curves.append([float.fromhex(line) for line in lines])
            one, two, *checkpointed = curves
            self.assertEqual(len(one), 20)
            worst = max(abs(a - b) / a for a, b in zip(one, two, strict=True))
            self.assertLessEqual(worst, 1e-4, model)
            self.assertEqual(checkpointed, [two] * len(checkpointed), model)

    def losses(self, ranks, global_batch):
        # A small learning rate: at large ones, rounding alone can flip a ReLU,
        # and training amplifies the difference.
        with tempfile.NamedTemporaryFile() as file:
            job = jobs.run(ranks, FASHION_MNIST, "--epochs", "1", "--limit", "3600",
                           "--batch-size", str(global_batch // ranks),
                           "--learning-rate", "0.005",
                           "--loss-file", file.name)
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            with open(file.name) as lines:
                return [float.fromhex(line) for line in lines]

    def test_one_two_and_three_ranks_learn_along_the_same_curve(self):
        one = self.losses(1, 36)
        self.assertEqual(len(one), 100)
        self.assertLess(one[-1], one[0])
        for ranks in (2, 3):
            several = self.losses(ranks, 36)
            worst = max(abs(a - b) / a for a, b in zip(one, several, strict=True))
            self.assertLessEqual(worst, 1e-4, f"{ranks} ranks")

    def test_checkpointing_changes_the_memory_and_not_the_losses(self):
        def run(how):
            with tempfile.NamedTemporaryFile() as file:
                job = jobs.run(2, FASHION_MNIST, "--model", "densenet", "--width", "8",
                               "--epochs", "1", "--limit", "320", "--batch-size", "32",
                               "--checkpoint", how, "--loss-file", file.name)
                self.assertEqual((job.returncode, job.stderr), (0, ""), how)
                memory = re.search(r"100%  \d+ images/s  tensors (\d+) MiB", job.stdout)
                with open(file.name) as losses:
                    return losses.read(), int(memory.group(1)), job.stdout

        plain, all_memory, _ = run("none")
        for how, shown in (("block", "loss"), ("sqrt", "loss"),
                           ("budget=50%", r"\n  plan .*\("),
                           ("online=50%", r"\n  recomputed [1-9]\d* of \d+ regions")):
            losses, memory, output = run(how)
            self.assertEqual(losses, plain, how)
            self.assertLess(memory, 0.8 * all_memory, how)
            self.assertRegex(output, shown)

    def test_an_invalid_checkpoint_option_is_refused_with_a_way_out(self):
        for how, way_out in (("blocks", "none, block, sqrt, budget=BYTES"),
                             ("budget", "512MiB"), ("budget=12XB", "12XB"),
                             ("budget=1KiB", "the least that is needed is")):
            job = jobs.run(1, FASHION_MNIST, "--limit", "64", "--checkpoint", how)
            self.assertNotEqual(job.returncode, 0)
            self.assertIn(way_out, job.stderr)

    def test_a_missing_file_is_named_with_the_package_that_has_it(self):
        job = jobs.run(2, FASHION_MNIST, "--data", "/nonexistent")
        self.assertEqual(job.returncode, 1)
        self.assertIn("'/nonexistent/train-images-idx3-ubyte.gz' cannot be opened",
                      job.stderr)
        self.assertIn("dataset-fashion-mnist", job.stderr)

    def test_a_folder_of_png_files_is_learned_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, FILES, folder, "--limit", "2000"], check=True)
            job = jobs.run(2, FASHION_MNIST, "--epochs", "2", "--augment", "--image-folder", folder)
            if "cannot read" in job.stderr:
                self.skipTest("the library was built without libpng")
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            accuracies = re.findall(r"test accuracy ([0-9.]+) %", job.stdout)
            self.assertGreater(float(accuracies[-1]), 60)
            shutil.rmtree(pathlib.Path(folder, "test", "bag"))
            job = jobs.run(1, FASHION_MNIST, "--image-folder", folder)
            self.assertIn("train and test have other subfolders", job.stderr)

    def test_a_damaged_file_is_named(self):
        images = "train-images-idx3-ubyte.gz"

        def cut_short(data):
            return data[:100000]

        def short_inside(data):
            return gzip.compress(gzip.decompress(data)[:5000], 1)

        def not_idx(data):
            return b"no data set at all, but some text"

        for damage, complaint in ((cut_short, "'.*%s' (is truncated|is damaged)"),
                                  (short_inside, "'.*%s' is truncated"),
                                  (not_idx, "'.*%s' is no IDX file")):
            with self.subTest(damage.__name__), tempfile.TemporaryDirectory() as folder:
                for name in os.listdir(DATA):
                    if name.endswith(".gz"):
                        shutil.copy(os.path.join(DATA, name), folder)
                with open(os.path.join(DATA, images), "rb") as whole:
                    damaged = damage(whole.read())
                with open(os.path.join(folder, images), "wb") as file:
                    file.write(damaged)
                job = jobs.run(1, FASHION_MNIST, "--data", folder)
                self.assertEqual(job.returncode, 1)
                self.assertRegex(job.stderr, complaint % re.escape(images))

    def test_invalid_options_are_refused(self):
        for wrong in (["--epochs", "0"], ["--batch-size", "x"], ["--unknown"],
                      ["--model", "gpt"], ["--model", "mlp", "--width", "3"]):
            job = jobs.run(1, FASHION_MNIST, *wrong)
            self.assertNotEqual(job.returncode, 0)
        job = jobs.run(2, FASHION_MNIST, "--limit", "10")
        self.assertEqual(job.returncode, 1)
        self.assertIn("10 images are fewer than one step", job.stderr)


class Text(unittest.TestCase):
    def run_on(self, text, *options, ranks=2):
        with tempfile.NamedTemporaryFile() as file:
            file.write(text)
            file.flush()
            return jobs.run(ranks, TEXT, file.name, *options)

    def test_learns_a_text_and_writes_a_similar_one(self):
        for model, options in (("gpt", ["--width", "32", "--layers", "1"]),
                               ("llama", ["--width", "64", "--layers", "1"]),
                               ("lstm", ["--width", "64"])):
            job = self.run_on(b"abcdefgh" * 400, "--model", model, *options,
                              "--context", "16", "--stride", "5", "--epochs", "8",
                              "--batch-size", "8", "--learning-rate", "0.005",
                              "--sample-bytes", "48", "--temperature", "0.1")
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            losses = [float(loss) for loss in
                      re.findall(r"validation loss ([0-9.]+) nats", job.stdout)]
            self.assertEqual(len(losses), 8, job.stdout)
            self.assertLess(losses[-1], 0.3)
            self.assertRegex(job.stdout, r"100%  \d+ tokens/s  tensors \d+ MiB  loss")
            # The beginning of the sample is random; the end depends on the model.
            sample = job.stdout.split("--- sample ---\n")[-1].split("\n")[0]
            self.assertEqual(len(sample), 48)
            self.assertIn(sample[-12:], "abcdefgh" * 3)

    def test_generates_text_after_a_prompt(self):
        for options in (["--temperature", "0"], ["--top-k", "1"], ["--top-p", "0.01"]):
            job = self.run_on(b"abcdefgh" * 400, "--model", "llama", "--width", "32",
                              "--layers", "1", "--context", "16", "--stride", "5",
                              "--epochs", "8", "--batch-size", "8", "--learning-rate", "0.005",
                              "--sample-bytes", "0", "--prompt", "cdefghab", "--generate", "24",
                              *options)
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            self.assertNotIn("--- sample ---", job.stdout)
            text = job.stdout.split("--- generated ---\n")[1].split("\n")[0]
            self.assertEqual(text, "cdefghab" * 4)

    def test_learns_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            text, tokens = pathlib.Path(folder, "text"), pathlib.Path(folder, "tokens")
            text.write_text("one two three four, and again\n" * 120)
            subprocess.run([TOKENIZE, TOKENIZER, text, tokens], check=True, capture_output=True)
            options = [tokens, "--tokenizer", TOKENIZER]
            job = jobs.run(2, TEXT, *options, "--model", "llama", "--width", "64", "--layers", "1",
                           "--context", "16", "--stride", "3", "--epochs", "5", "--batch-size", "8",
                           "--learning-rate", "0.005", "--sample-bytes", "0", "--prompt",
                           "again\none two", "--generate", "4", "--temperature", "0")
            self.assertEqual((job.returncode, job.stderr), (0, ""))
            losses = [float(loss) for loss in
                      re.findall(r"validation loss ([0-9.]+) nats per token", job.stdout)]
            self.assertLess(losses[-1], 0.5)
            written = job.stdout.split("--- generated ---\nagain\none two")[1]
            self.assertTrue(written.startswith(" th"), written)
            for wrong, message in (([text, *options[1:]], str(text)),
                                   ([*options, "--model", "bert"], "leave out --tokenizer"),
                                   ([*options, "--context", "5000"], "5000")):
                job = jobs.run(2, TEXT, *wrong)
                self.assertEqual(job.returncode, 1)
                self.assertIn(message, job.stderr)

    def test_a_masked_model_learns_and_generates_no_text(self):
        options = ["--model", "bert", "--width", "32", "--layers", "1", "--context", "16"]
        text = b"".join(bytes([letter]) * 64 for letter in b"abcdefgh") * 8
        job = self.run_on(text, *options, "--stride", "5", "--epochs", "10",
                          "--batch-size", "8", "--learning-rate", "0.005")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        losses = [float(loss) for loss in
                  re.findall(r"validation loss ([0-9.]+) nats", job.stdout)]
        self.assertLess(losses[-1], 0.3)
        self.assertNotIn("--- sample ---", job.stdout)
        job = self.run_on(b"abcdefgh" * 400, *options, "--generate", "5")
        self.assertEqual(job.returncode, 1)
        self.assertIn("leave out --generate", job.stderr)
        job = self.run_on(b"abcdefgh" * 400, "--prompt", "")
        self.assertEqual(job.returncode, 1)
        self.assertIn("the prompt is empty", job.stderr)

    def test_other_models_learn_along_the_same_curve_in_two_ranks(self):
        for model in ("llama", "bert"):
            curves = []
            for ranks, how in ((1, "none"), (2, "none"), (2, "block"), (2, "budget=60%"),
                               (2, "online=60%")):
                with tempfile.NamedTemporaryFile() as file:
                    job = self.run_on(b"abcdefgh" * 200, "--model", model, "--width", "32",
                                      "--layers", "3", "--context", "16", "--epochs", "1",
                                      "--batch-size", str(8 // ranks), "--sample-bytes", "0",
                                      "--checkpoint", how, "--loss-file", file.name, ranks=ranks)
                    self.assertEqual((job.returncode, job.stderr), (0, ""), (model, how))
                    with open(file.name) as lines:
                        curves.append([float.fromhex(line) for line in lines])
            one, two, *checkpointed = curves
            self.assertGreater(len(one), 10)
            worst = max(abs(a - b) / a for a, b in zip(one, two, strict=True))
            self.assertLessEqual(worst, 1e-4, model)
            self.assertEqual(checkpointed, [two] * 3, model)

    def test_learns_the_same_with_every_way_of_checkpointing(self):
        losses = set()
        for how in ("none", "block", "sqrt", "budget=50%", "online=50%"):
            with tempfile.NamedTemporaryFile() as file:
                job = self.run_on(b"abcdefgh" * 100, "--width", "32", "--layers", "3",
                                  "--dropout", "0.1", "--context", "16", "--epochs", "1",
                                  "--batch-size", "4", "--sample-bytes", "0",
                                  "--checkpoint", how, "--loss-file", file.name)
                self.assertEqual((job.returncode, job.stderr), (0, ""), how)
                losses.add(pathlib.Path(file.name).read_text())
        self.assertEqual(len(losses), 1)

    def test_a_file_that_is_too_short_is_named(self):
        job = self.run_on(b"short", "--validation", "0")
        self.assertEqual(job.returncode, 1)
        self.assertIn("a text of 5 bytes has no window of 128", job.stderr)
        job = jobs.run(2, TEXT, "/nonexistent")
        self.assertEqual(job.returncode, 1)
        self.assertIn("/nonexistent", job.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
