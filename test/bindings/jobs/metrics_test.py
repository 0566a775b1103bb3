# SPDX-License-Identifier: Apache-2.0
"""Metrics of a whole job: over HTTP while it runs, and in files."""
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent / "metrics_script.py"
SERIES = re.compile(r'(\w+)(?:\{((?:\w+="[^"\\]*",?)*)\})? (\S+)')
SUFFIXES = {"counter": {""}, "gauge": {""}, "histogram": {"_bucket", "_sum", "_count"},
            "summary": {"", "_sum", "_count"}}


def parsed(text):
    """{series: value} of Prometheus' text format; refuses all else."""
    assert text.endswith("\n")
    values, types, named = {}, {}, []
    for line in text.splitlines():
        comment = re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)", line)
        if comment and comment[1] == "HELP":
            assert comment[2] not in named
            named.append(comment[2])
        elif comment:
            assert comment[2] == named[-1]
            types[comment[2]] = comment[3]
        else:
            name, labels, value = SERIES.fullmatch(line).groups()
            assert name.removeprefix(named[-1]) in SUFFIXES[types[named[-1]]], line
            assert (name, labels) not in values
            values[name, labels] = float(value)
    return values


def total(values, name):
    found = [value for (of, _), value in values.items() if of == name]
    assert found, name
    return sum(found)


def free_ports():
    """The first of two successive ports that no program uses."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def run(folder, **variables):
    return subprocess.run(
        [os.environ["HOROVODRUN"], "-np", "2", "--no-mpi", sys.executable, SCRIPT, folder],
        env=os.environ | {name: str(value) for name, value in variables.items()},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def test_ranks_serve_and_write_their_metrics(tmp_path):
    job = run(tmp_path, HOROVODPP_METRICS_PORT=free_ports(),
              HOROVODPP_METRICS_FILE=tmp_path / "{rank}.prom")
    assert job.returncode == 0 and not job.stderr, job.stderr
    for rank in range(2):
        served = parsed((tmp_path / f"served.{rank}").read_text())
        assert total(served, "horovodpp_operations_total") == 10
        assert total(served, "horovodpp_operation_bytes_total") == 4000
        assert served["horovodpp_job_size", f'rank="{rank}"'] == 2
        assert served["horovodpp_batch_seconds_count",
                      f'rank="{rank}",kind="allreduce",plane="shm"'] == 10
        written = parsed((tmp_path / f"{rank}.prom").read_text())
        assert total(written, "horovodpp_operations_total") > 10  # Later ones, too.
        assert set(served) <= set(written)


def test_a_used_port_and_an_unwritable_file_are_one_warning_each(tmp_path):
    port = free_ports()
    with socket.socket() as first:
        first.bind(("127.0.0.1", port))
        first.listen()
        job = run("", HOROVODPP_METRICS_PORT=port,
                  HOROVODPP_METRICS_FILE=tmp_path / "nowhere" / "m.prom")
    assert job.returncode == 0, job.stderr
    assert job.stderr.count("cannot serve the metrics") == 1
    assert job.stderr.count("cannot write the metrics") == 1
    assert f"127.0.0.1:{port}" in job.stderr and "m.prom" in job.stderr
