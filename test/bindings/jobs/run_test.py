# SPDX-License-Identifier: Apache-2.0
"""run(): functions that are hard to send, elastic jobs, and ranks on several hosts."""
import importlib.util
import multiprocessing
import os
import pathlib
import subprocess
import sys
from multiprocessing.connection import Client

import functions
import pytest

import horovodpp
from horovodpp.runner.elastic.discovery import FixedHosts
from horovodpp.runner.elastic.settings import ElasticSettings
from horovodpp.runner.exchange import Exchange

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "horovodrun" / "hosts"))
import network  # noqa: E402


def has_cloudpickle():
    return importlib.util.find_spec("cloudpickle") is not None


def test_a_lambda_runs_with_cloudpickle():
    if not has_cloudpickle():
        pytest.skip("needs cloudpickle")
    offset = 5

    def local(scale):
        return functions.places(offset, scale)

    assert horovodpp.run(lambda: functions.places(offset), num_proc=2) == [(5, 1), (6, 1)]
    assert horovodpp.run(local, (2,), num_proc=2) == [(10, 1), (12, 1)]


def test_without_cloudpickle_a_lambda_is_an_error_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="<lambda>'.*pip install cloudpickle.*module"):
        horovodpp.run(lambda: None)


@pytest.mark.parametrize("hide", ["", "sys.modules['cloudpickle'] = None\n"])
def test_a_function_of_the_main_file_runs_or_is_an_error(hide, tmp_path):
    if not hide and not has_cloudpickle():
        pytest.skip("needs cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(f"import sys\n{hide}import horovodpp\ndef f(): return 7\n"
                      "print(horovodpp.run(f, num_proc=2))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    if hide:
        assert "'f' to other processes, which cannot find it in __main__" in done.stderr
        assert "cloudpickle" in done.stderr
    else:
        assert done.stdout == "[7, 7]\n", done.stderr


def test_an_elastic_job_returns_the_results_of_those_that_ended_well():
    results = horovodpp.run(functions.loses_rank_1, num_proc=3, min_num_proc=1, max_num_proc=3,
                            reset_limit=4)
    assert len(results) >= 1 and set(results) == {"went on"}


def test_an_object_finds_the_hosts_of_an_elastic_job():
    settings = ElasticSettings(FixedHosts({"localhost": 2}), 2, 2)
    assert horovodpp.run(functions.places, (5,), **settings.run_arguments()) == [(5, 1), (6, 1)]


def test_a_stranger_gets_no_answer():
    served = Exchange(b"secret")
    port = int(served.place.rpartition(":")[2])
    try:
        with pytest.raises(multiprocessing.AuthenticationError):
            Client(("127.0.0.1", port), authkey=b"guessed")
    finally:
        served.close()


def test_ranks_run_on_several_hosts(tmp_path):
    reason = network.reason_against()
    if reason:
        pytest.skip(reason)
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport functions, horovodpp\n"
        "print(horovodpp.run(functions.names_its_host, hosts=['a:1', 'b:1'], num_proc=2,\n"
        "                    use_gloo=True))\n")
    with network.Network("ab") as net:
        done = subprocess.run(net["a"].within(sys.executable, script), capture_output=True,
                              text=True, timeout=100,
                              env={**os.environ, **net.shell("ssh_config")})
    assert done.stdout == "['a', 'b']\n", done.stdout + done.stderr
