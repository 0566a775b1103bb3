# SPDX-License-Identifier: Apache-2.0
"""Measurements that figures show, as docs/figures/NAME.json: date, machine, command and data."""

import datetime
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import machine  # noqa: E402


def file(name):
    return ROOT / "docs" / "figures" / f"{name}.json"


def write(name, command, **data):
    """Each value of `data` is an object or a list, whose items get a line each."""
    lines = [f'"date": "{datetime.date.today()}"', f'"machine": {json.dumps(machine.described())}',
             f'"command": {json.dumps(command)}']
    lines += [f'"{key}": {in_lines(value)}' for key, value in data.items()]
    file(name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def in_lines(value):
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(item)}"
                                   for key, item in value.items()) + "\n}"
    return "[\n" + ",\n".join(f"  {json.dumps(item)}" for item in value) + "\n]"


def read(name):
    return json.loads(file(name).read_text())
