# SPDX-License-Identifier: Apache-2.0
"""Gives every option of Horovod's launcher and of torchrun, and every key of a file of options,
to the built horovodrun, and compares the outcome with the table of horovodrun and with the page.

    trial_test.py            the test
    trial_test.py --write    writes the table of the page
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tries

HOROVODRUN = os.environ["HOROVODRUN"]
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/horovodrun_options.md"
BEGIN = "<!-- tries: begin; written by test/horovodrun/options/trial_test.py --write -->\n"
END = "<!-- tries: end -->"
WORKS, NO_EFFECT, REFUSED = "works", "no effect", "refused"
# Options of this project, which neither Horovod nor torchrun has.
OWN = {"-n", "--no-mpi", "--launcher", "--completion", "--tag-output", "--log-max-size",
       "--log-files", "--watch", "--debug-on-crash", "--spares", "--dump",
       "--merge-timelines", "--summary-steps"}
ROW = re.compile(r"\| (`-.*?) \| (works|no effect|refused) \| (.*) \| (.*?) \| (.*?) \|")


class Row:
    """A row of `horovodrun --print table`."""

    def __init__(self, found):
        names, self.state, meaning, variables, key = found.groups()
        self.names = re.findall(r"`(-[^`]*)`", names)
        self.words = meaning.partition(" Here: ")[2].replace("\\|", "|")
        self.variables = re.findall(r"`([^`]*)`", variables)
        self.key, _, self.value = key.strip("`").partition(": ")


@functools.cache
def rows():
    text = subprocess.run([HOROVODRUN, "--print", "table"], text=True, check=True,
                          capture_output=True).stdout
    return [Row(found) for found in ROW.finditer(text)]


def row_of(name):
    return next(row for row in rows() if name.replace("_", "-") in row.names)


def run(words, environment=None, options="params: {cycle_time_ms: 7.5}\n"):
    """The sight of a job in a folder with a file of hosts and a file of these options."""
    variables = {name: value for name, value in os.environ.items()
                 if not re.match("HOROVOD|OMPI_MCA|NCCL", name)}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "hosts").write_text("localhost slots=2\n")
        pathlib.Path(folder, "options.yaml").write_text(options)
        done = subprocess.run([HOROVODRUN, *words], text=True, capture_output=True, cwd=folder,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env=variables | (environment or {}))
        files = [os.path.relpath(os.path.join(path, name), folder)
                 for path, _, names in os.walk(folder) for name in names]
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return tries.Sight(done.returncode, seen, done.stdout, done.stderr, files)


def outcome_of(one, sight):
    """State and words, by what the launcher did."""
    if sight.code == 2:
        return REFUSED, sight.err.strip()
    for line in sight.err.splitlines():
        if line.startswith(f"horovodrun: {one.name} has no effect: "):
            return NO_EFFECT, line
    return WORKS, one.effect.words


@functools.cache
def results():
    """The tries with their sights."""
    every = [*tries.HOROVOD, *tries.TORCHRUN]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(zip(every, pool.map(lambda one: run(one.words()), every)))


def cell(text):
    return text.replace("|", "\\|")


def table():
    text = ""
    sights = {id(one): sight for one, sight in results()}
    for title, chosen in (("Horovod 0.28", tries.HOROVOD), ("torchrun of PyTorch 2.9",
                                                            tries.TORCHRUN)):
        text += f"\n### {title}\n\n| option | outcome | seen |\n|---|---|---|\n"
        for one in chosen:
            state, words = outcome_of(one, sights[id(one)])
            state = {WORKS: "same effect"}.get(state, state)
            text += f"| `{' '.join(one.option)}` | {state} | {cell(words)} |\n"
    return text + "\n"


class Options(unittest.TestCase):
    def test_each_has_the_outcome_of_the_table(self):
        for one, sight in results():
            with self.subTest(option=one.option):
                row = row_of(one.name)
                state, words = outcome_of(one, sight)
                # A value that means what happens anyway is accepted.
                if one.effect is tries.RUNS and row.state == REFUSED:
                    self.assertEqual((sight.code, sight.err), (0, "alas\n"))
                    self.assertTrue(one.effect.is_seen(sight))
                    continue
                self.assertEqual(state, row.state, sight.err)
                if state == REFUSED:
                    self.assertTrue(words.startswith(f"horovodrun: {one.name} "), words)
                    self.assertIn(row.words, words)
                    self.assertEqual((len(words.splitlines()), sight.out), (1, ""))
                    continue
                self.assertEqual(sight.code, 0, sight.err)
                if state == NO_EFFECT:
                    self.assertEqual(words, f"horovodrun: {one.name} has no effect: {row.words}")
                    self.assertEqual(sight.err, f"{words}\nalas\n")
                if one.effect is not tries.NONE:
                    self.assertTrue(one.effect.is_seen(sight), sight)
                else:
                    self.assertEqual(state, NO_EFFECT)

    def test_every_name_of_the_table_is_tried(self):
        tried = {one.name for one, _ in results()}
        named = {name for row in rows() for name in row.names}
        self.assertEqual(named - tried, OWN)

    def test_the_page_has_what_was_seen(self):
        shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
        self.assertEqual(shown.splitlines(), table().splitlines(), f"run {sys.argv[0]} --write")


def lines_of(key, value):
    """The key and its value in a file of options."""
    section, dot, name = key.partition(".")
    return f"{section}:\n  {name}: {value}\n" if dot else f"{section}: {value}\n"


# A job whose ranks show their variables.
SHOWS = ["-np", "1", "sh", "-c", "env"]
BY_FILE = ["--config-file", "options.yaml"]


class Keys(unittest.TestCase):
    """A key of --config-file has the effect of its option."""

    def test_each_has_the_effect_of_its_option(self):
        words = {one.name: one.option[1:] for one, _ in results()}
        keyed = [row for row in rows() if row.key]
        self.assertEqual(len({row.key for row in keyed}), 24)  # As many as Horovod has.
        for row in keyed:
            given = [] if row.value else words[row.names[0]]
            with self.subTest(key=row.key, value=row.value or given):
                starter = [] if row.key == "controller" else ["--no-mpi"]
                by_file = run([*starter, *BY_FILE, *SHOWS],
                              options=lines_of(row.key, row.value or " ".join(given)))
                by_option = run([*starter, row.names[0], *given, *SHOWS])
                self.assertEqual(by_file.code, 0, by_file.err)
                self.assertEqual(self.kept(by_file), self.kept(by_option))
                for variable in row.variables:
                    self.assertIn(variable.partition("=")[0], by_file.variables)
                notes = [sight.err.partition(" has no effect: ")[2]
                         for sight in (by_file, by_option)]
                self.assertEqual(notes, [f"{row.words}\n" if row.words else ""] * 2)

    @staticmethod
    def kept(sight):
        """The variables that do not differ from job to job."""
        return {name: value for name, value in sight.variables.items()
                if not re.search("RENDEZVOUS|LAUNCHER$|^PWD|PID|JOB|PMIX|OMPI_", name)}


def three_values(row, example):
    """For the environment, the file and the command line."""
    if example.isupper():
        return ["TRACE", "INFO", "ERROR"]
    if "noise" in row.key:
        return ["0.1", "0.2", "0.3"]
    return ["1", "2", "3"] if re.fullmatch(r"[\d.]+", example) else ["a", "b", "c"]


class Precedence(unittest.TestCase):
    """The command line goes before the file, and the file before the environment."""

    def test_of_every_variable(self):
        words = {one.name: one.option[1:] for one, _ in results()}
        values = {}
        for row in rows():
            if row.key and row.variables and not row.value:
                values[row] = three_values(row, words[row.names[0]][0])
        self.assertGreater(len(values), 10)
        environment = {row.variables[0]: first for row, (first, _, _) in values.items()}
        sections = {}
        for row, (_, second, _) in values.items():
            section, line = lines_of(row.key, second).split("\n", 1)
            sections[section] = sections.get(section, "") + line
        text = "".join(f"{section}\n{lines}" for section, lines in sections.items())
        line = [word for row, (_, _, third) in values.items() for word in (row.names[0], third)]
        seen = [run(["--no-mpi", *layers, *SHOWS], environment, text).variables
                for layers in ([], BY_FILE, [*BY_FILE, *line], [*line, *BY_FILE])]
        for row, (first, second, third) in values.items():
            name = row.variables[0]
            if name == "HOROVOD_FUSION_THRESHOLD":  # The option is in MiB.
                second, third = (str(int(value) << 20) for value in (second, third))
            with self.subTest(variable=name):
                self.assertEqual([one[name] for one in seen], [first, second, third, third])

    def test_of_every_flag(self):
        flags = {}
        for row in rows():
            if row.variables and row.value:
                flags.setdefault(row.key, {})[row.value] = row
        self.assertEqual(len(flags), 8)
        for key, both in flags.items():
            on, off = both["true"], both["false"]
            name, _, with_on = on.variables[0].partition("=")
            with_off = off.variables[0].partition("=")[2]
            with self.subTest(key=key):
                seen = [run(["--no-mpi", *layers, *SHOWS], {name: with_off},
                            lines_of(key, "true")).variables[name]
                        for layers in ([], BY_FILE, [*BY_FILE, off.names[0]],
                                       [off.names[0], *BY_FILE])]
                self.assertEqual(seen, [with_off, with_on, with_off, with_off])


def write():
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} has no lines '{BEGIN.strip()}' and '{END}'")
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main(verbosity=2)
