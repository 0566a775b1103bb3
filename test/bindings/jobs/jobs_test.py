# SPDX-License-Identifier: Apache-2.0
"""Whole jobs: horovodpp.run(), Horovod scripts, ranks that fail, die or are interrupted."""
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import functions
import pytest

import horovodpp

HERE = pathlib.Path(__file__).resolve().parent


def horovodrun(ranks, *command, **options):
    return subprocess.run(
        [os.environ["HOROVODRUN"], "-np", str(ranks), sys.executable, *map(str, command)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **options)


def processes_of_session(session):
    """The living processes, by command."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().rsplit(") ", 1)
        except OSError:
            continue  # Already ended.
        state, _, _, of_session = rest.split()[:4]
        if int(of_session) == session and state != "Z":
            found.append(name)
    return found


# --- run() ---

def test_run_returns_results_by_rank():
    assert horovodpp.run(functions.places, args=(10,), kwargs={"scale": 2}, np=2) == \
        [(20, 1), (22, 1)]


def test_run_raises_the_first_ranks_error():
    with pytest.raises(LookupError, match="no such sample: 17") as raised:
        horovodpp.run(functions.fails_on_rank_1, num_proc=2)
    text = str(raised.value.__cause__)
    assert "of rank 1" in text and "in fails_on_rank_1" in text


def test_run_names_a_dead_rank():
    with pytest.raises(horovodpp.HorovodInternalError,
                       match=r"rank 1 \(host .*ended without leaving"):
        horovodpp.run(functions.dies_on_rank_1, np=2)


def test_run_shows_output_in_a_notebook(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdout", shown)
    assert horovodpp.run(functions.prints) == [None]
    assert "heard here\n" in shown.getvalue()


def test_run_also_writes_output_to_files(tmp_path):
    logs = tmp_path / "logs"
    horovodpp.run(functions.prints, np=2, output_filename=logs, start_timeout=100)
    for rank in range(2):
        assert "heard here\n" in (logs / f"rank.{rank}" / "stdout").read_text()


def test_run_reports_invalid_arguments_and_a_missing_launcher(monkeypatch):
    with pytest.raises(ValueError, match="the same argument"):
        horovodpp.run(functions.prints, num_proc=2, np=2)
    with pytest.raises(ValueError, match="use_gloo starts the ranks without mpirun"):
        horovodpp.run(functions.prints, use_gloo=True, use_mpi=True)
    monkeypatch.delenv("HOROVODRUN")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RuntimeError, match="horovodrun was not found"):
        horovodpp.run(functions.prints)


def test_workers_of_a_loader_may_be_forked():
    assert horovodpp.run(functions.loads_with_workers, np=2) == [2 * sum(range(20))] * 2


def test_calls_of_a_forked_child_are_errors():
    for told in horovodpp.run(functions.communicates_in_a_child, np=2):
        assert "was forked from" in told and "has no part in its job" in told


def test_memory_does_not_grow():
    assert max(horovodpp.run(functions.grows, np=2)) < 2 << 20


# --- Scripts ---

def test_a_horovod_script_runs_unchanged():
    job = horovodrun(2, "-m", "horovodpp.run_as_horovod", HERE / "horovod_script.py")
    assert job.returncode == 0, job.stdout + job.stderr
    assert "on 2 ranks" in job.stdout


def test_run_as_horovod_shows_its_usage():
    for arguments, text in (([], "usage:"), (["none.py"], "file 'none.py' does not exist")):
        done = subprocess.run([sys.executable, "-m", "horovodpp.run_as_horovod", *arguments],
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and text in done.stderr


# --- Failures and interruptions ---

def test_a_rank_that_raises_is_named_everywhere():
    job = horovodrun(2, HERE / "functions.py", "fails_on_rank_1")
    assert job.returncode != 0
    assert "LookupError: no such sample: 17" in job.stderr
    assert "HorovodInternalError: rank 1 (host" in job.stderr
    assert "raised LookupError: no such sample: 17" in job.stderr


def test_a_rank_that_is_killed_is_named_everywhere():
    job = horovodrun(2, HERE / "functions.py", "dies_on_rank_1")
    assert job.returncode != 0
    assert "rank 0 was told: rank 1 (host" in job.stdout


def test_ranks_that_die_one_after_the_other_on_the_way_back_are_survived():
    job = horovodrun(6, HERE / "functions.py", "die_on_the_way_back")
    assert job.returncode == 0, job.stdout + job.stderr
    assert "rank 1 is alone, after 5 steps" in job.stdout


@pytest.mark.parametrize("function", [
    "waits_for_a_rank_that_sleeps", "orders_a_stream_behind_a_call_that_waits_for_a_sleeping_rank"])
def test_an_interrupt_ends_a_wait_and_leaves_no_process(function):
    seen = []
    with subprocess.Popen(
            # Open MPI loses a signal that comes before mpirun has noticed that a rank runs.
            [os.environ["HOROVODRUN"], "--no-mpi", "-np", "2", sys.executable,
             str(HERE / "functions.py"), function], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True) as job:
        for line in job.stdout:
            seen.append(line)
            if "waiting" in line:
                job.send_signal(signal.SIGINT)
    assert job.returncode != 0
    assert any("interrupted" in line for line in seen), seen
    assert processes_of_session(job.pid) == []


# --- The module ---

def static_tls_of(library):
    """Bytes of thread locals at a fixed place in each thread."""
    listed = subprocess.run(["readelf", "-lW", library], check=True, stdout=subprocess.PIPE,
                            text=True).stdout
    return sum(int(line.split()[5], 16) for line in listed.splitlines()
               if line.split()[:1] == ["TLS"])


def test_it_fits_glibcs_reserve_of_static_tls():
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    with open("/proc/self/maps") as maps:
        mapped = {line.split()[-1] for line in maps if ".so" in line}
    ours = [path for path in mapped if re.search(r"/(_core\.|libhorovodpp)[^/]*$", path)]
    assert ours
    # The default of glibc.rtld.optional_static_tls, for all libraries together.
    assert sum(map(static_tls_of, ours)) <= 512


def test_a_timeline_has_an_effect(tmp_path):
    job = horovodrun(2, "-c", "import horovodpp as h; h.init(); h.barrier()",
                     env=dict(os.environ, HOROVOD_TIMELINE=str(tmp_path / "timeline.json")))
    assert job.returncode == 0, job.stderr
    assert "HOROVOD_TIMELINE" not in job.stderr
    assert "BARRIER" in (tmp_path / "timeline.json").read_text()


def test_an_unwritable_timeline_is_one_warning(tmp_path):
    job = horovodrun(2, "-c", "import horovodpp as h; h.init(); h.barrier()",
                     env=dict(os.environ, HOROVOD_TIMELINE=str(tmp_path / "no" / "timeline.json")))
    assert job.returncode == 0, job.stderr
    assert job.stderr.count("cannot write the timeline") == 1
    assert "No such file or directory" in job.stderr


WAITS_AS_A_SPARE = """
import os, pathlib, signal, sys, time
import horovodpp
heard = pathlib.Path(sys.argv[1])
if os.environ.get("HOROVODPP_JOIN"):
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # As Ctrl-C's.
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        horovodpp.init()
    except KeyboardInterrupt:
        heard.touch()
    sys.exit()
horovodpp.init()
while not heard.exists():
    time.sleep(0.05)
"""


def test_a_process_that_waits_to_join_hears_a_signal(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WAITS_AS_A_SPARE)
    job = subprocess.run([os.environ["HOROVODRUN"], "--no-mpi", "-np", "1", "--spares", "1",
                          sys.executable, script, tmp_path / "heard"], capture_output=True,
                         text=True, timeout=100)
    assert job.returncode == 0, job.stderr
