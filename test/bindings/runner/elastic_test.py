# SPDX-License-Identifier: Apache-2.0
import importlib
import pathlib
import subprocess

import pytest

from horovodpp.runner import discovered
from horovodpp.runner.common.util.settings import Settings
from horovodpp.runner.common.util.timeout import Timeout
from horovodpp.runner.elastic.discovery import FixedHosts, HostDiscovery, HostDiscoveryScript
from horovodpp.runner.elastic.settings import ElasticSettings


def script(folder, text):
    path = folder / "hosts.sh"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return path


def test_a_script_prints_hosts(tmp_path):
    path = script(tmp_path, "printf 'a\\n\\nb:3\\n'")
    assert HostDiscoveryScript(path, 2).find_available_hosts_and_slots() == {"a": 2, "b": 3}
    with pytest.raises(ValueError, match="printed 'a': print HOST:SLOTS"):
        HostDiscoveryScript(path).find_available_hosts_and_slots()


def test_a_script_that_fails_is_an_error(tmp_path):
    path = script(tmp_path, "exit 5")
    with pytest.raises(RuntimeError, match="Failed to execute discovery script: .*hosts.sh. "
                                           "Exit code: 5"):
        HostDiscoveryScript(path).find_available_hosts_and_slots()


def test_fixed_hosts_can_be_replaced():
    hosts = FixedHosts({"a": 1})
    assert hosts.find_available_hosts_and_slots() == {"a": 1}
    hosts.set({"b": 2})
    assert hosts.find_available_hosts_and_slots() == {"b": 2}


def test_the_launcher_reads_the_hosts_of_an_object():
    hosts = FixedHosts({"a": 1, "b": 2})
    with discovered.script_of(hosts) as path:
        assert subprocess.check_output([path], text=True) == "a:1\nb:2\n"
        hosts.set({"c": 3})
        while subprocess.check_output([path], text=True) != "c:3\n":
            pass
    assert not pathlib.Path(path).exists()
    with discovered.script_of("./hosts.sh") as path:
        assert path == "./hosts.sh"


class Fails(HostDiscovery):
    def __init__(self, times):
        self.times = times

    def find_available_hosts_and_slots(self):
        self.times -= 1
        if self.times < 0:
            raise LookupError("the queue is away")
        return {"a": self.times}


def test_hosts_stay_while_the_discovery_fails(caplog):
    with pytest.raises(LookupError, match="the queue is away"):
        with discovered.script_of(Fails(0)):
            pass
    with discovered.script_of(Fails(1)) as path:
        while "the hosts stay as they are: the queue is away" not in caplog.text:
            pass
        assert subprocess.check_output([path], text=True) == "a:0\n"


def test_settings_become_arguments_of_run():
    settings = Settings(hosts="a:2", num_proc=2, verbose=0, nics={"eth1", "eth0"}, ssh_port=23,
                        start_timeout=Timeout(9.2, ""), key=b"unused")
    assert settings.run_arguments() == {
        "hosts": "a:2", "num_proc": 2, "ssh_port": 23, "start_timeout": 9,
        "network_interfaces": ["eth0", "eth1"]}
    discovery = FixedHosts({"a": 1})
    settings = ElasticSettings(discovery, 1, 4, elastic_timeout=7, reset_limit=3, env={"A": "1"})
    assert settings.elastic and settings.run_arguments() == {
        "host_discovery_script": discovery, "min_num_proc": 1, "max_num_proc": 4,
        "reset_limit": 3, "env": {"A": "1", "HOROVOD_ELASTIC_TIMEOUT": "7"}}


@pytest.mark.parametrize("name, instead", [
    ("common.util.network.BasicService", "multiprocessing.connection"),
    ("driver.driver_service.get_common_interfaces", "horovodrun --doctor"),
    ("elastic.discovery.HostManager", "HostDiscovery"),
    ("elastic.driver.ElasticDriver", r"horovodpp.run\(function, min_num_proc"),
    ("elastic.registration.WorkerStateRegistry", "horovodrun"),
    ("elastic.rendezvous.create_rendezvous_handler", "hvd.init"),
    ("elastic.worker.WorkerNotificationManager", "state.commit"),
    ("gloo_run.launch_gloo", "horovodrun --no-mpi"),
    ("http.http_server.RendezvousServer", "KVStoreServer"),
    ("js_run.js_run", "LSF"),
    ("mpi_run.mpi_run", "use_mpi=True"),
])
def test_what_is_missing_names_its_replacement(name, instead):
    module, _, name = name.rpartition(".")
    missing = getattr(importlib.import_module("horovodpp.runner." + module), name)
    with pytest.raises(NotImplementedError,
                       match=rf"horovod.runner.{module}.{name} is not part of.*{instead}"):
        missing(1, of=2)
