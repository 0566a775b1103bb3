# SPDX-License-Identifier: Apache-2.0
"""The package's types: right programs have no error, and wrong uses are found."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import horovodpp

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def mypy(folder, *arguments):
    """mypy's output. It finds the package as users' programs do."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", folder, "--no-error-summary", *arguments],
        cwd=folder, capture_output=True, text=True)
    assert found.stderr == ""
    return found.stdout


def strict(folder, *programs):
    # torch leaves its Tensor.backward() untyped.
    return mypy(folder, "--strict", "--untyped-calls-exclude", "torch", *programs)


def test_the_modules_types_are_those_that_are_checked_in(tmp_path):
    if importlib.util.find_spec("nanobind") is None:
        pytest.skip("needs nanobind")
    package = pathlib.Path(horovodpp.__file__).parent
    source = (package / "__init__.py").resolve().parents[1]
    made = tmp_path / "_core.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "horovodpp._core",
                    "-p", str(source / "stub_patterns.txt"), "-o", str(made)], check=True)
    assert made.read_text() == (package / "_core.pyi").read_text()
    assert (package / "py.typed").exists()


def test_the_package_has_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", os.fspath(pathlib.Path(horovodpp.__file__).parents[1]))
    assert mypy(tmp_path, "--config-file", ROOT / "pyproject.toml") == ""


def test_the_examples_and_right_programs_have_no_error(tmp_path):
    examples = sorted((ROOT / "examples" / "python").glob("*.py"))
    assert len(examples) > 4
    assert strict(tmp_path, HERE / "types" / "right.py", *examples) == ""


def test_each_wrong_line_has_its_error(tmp_path):
    wrong = HERE / "types" / "wrong.py"
    expected = {}
    for number, line in enumerate(wrong.read_text().splitlines(), 1):
        if "  # error: " in line:
            expected[number] = line.partition("  # error: ")[2]
    found = re.findall(r":(\d+): error: .*\[([\w-]+)\]$", strict(tmp_path, wrong), re.MULTILINE)
    assert len(expected) > 15
    assert {int(number): code for number, code in found} == expected
