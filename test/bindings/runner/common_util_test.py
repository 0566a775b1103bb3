# SPDX-License-Identifier: Apache-2.0
import io
import os
import signal
import socket
import threading

import pytest

from horovodpp.runner.common.util import (
    codec, env, host_hash, network, safe_shell_exec, secret, tiny_shell_exec)
from horovodpp.runner.util import network as own_network


def test_a_digest_belongs_to_its_message_and_key():
    key = secret.make_secret_key()
    digest = secret.compute_digest(key, b"message")
    assert len(key) == secret.SECRET_LENGTH and len(digest) == secret.DIGEST_LENGTH
    assert secret.check_digest(key, b"message", digest)
    assert not secret.check_digest(key, b"massage", digest)
    assert not secret.check_digest(secret.make_secret_key(), b"message", digest)


def test_an_object_becomes_text():
    value = {"a": (1, b"\xff")}
    assert isinstance(codec.dumps_base64(value), str)
    assert isinstance(codec.dumps_base64(value, to_ascii=False), bytes)
    assert codec.loads_base64(codec.dumps_base64(value)) == value


def test_variables_of_this_machine_are_not_exported():
    assert env.is_exportable("PATH") and env.is_exportable("MY_OLDPWD_2")
    for name in ("BASH_FUNC_which%%", "OLDPWD", "NVIDIA_CUDA_VISIBLE_DEVICES",
                 "_HOROVOD_SECRET_KEY"):
        assert not env.is_exportable(name)


def test_the_launcher_names_the_rank(monkeypatch):
    for name in ("HOROVOD", "OMPI_COMM_WORLD", "PMI"):
        monkeypatch.delenv(f"{name}_RANK", raising=False)
    assert env.get_env_rank_and_size() == (0, 1)
    for number, name in enumerate(("PMI", "OMPI_COMM_WORLD", "HOROVOD")):
        monkeypatch.setenv(f"{name}_RANK", str(number))
        monkeypatch.setenv(f"{name}_SIZE", "4")
        assert env.get_env_rank_and_size() == (number, 4)


def test_a_host_has_one_name():
    assert host_hash.host_hash() == host_hash.host_hash()
    assert host_hash.host_hash("a") != host_hash.host_hash("b")


def test_addresses_of_this_machine():
    assert network.resolve_host_address("127.0.0.1") == "127.0.0.1"
    assert network.resolve_host_address("no.such.host.invalid") is None
    server, port = network.find_port(
        lambda address: type("Server", (), {"socket": socket.create_server(address)})())
    assert server.socket.getsockname()[1] == port
    server.socket.close()
    own = own_network.get_local_host_addresses()
    assert own_network.filter_local_addresses(
        ["127.0.0.1", "no.such.host.invalid", *own]) == ["no.such.host.invalid"]
    with pytest.raises(RuntimeError, match="none of the interfaces none0 has an IPv4 address"):
        own_network.get_driver_ip(["none0"])


def test_a_command_runs():
    out, err = io.StringIO(), io.StringIO()
    assert safe_shell_exec.execute("echo $A; echo b >&2; exit 3", env={**os.environ, "A": "a"},
                                   stdout=out, stderr=err, index=1) == 3
    assert (out.getvalue(), err.getvalue()) == ("[1]<stdout>:a\n", "[1]<stderr>:b\n")
    out = io.StringIO()
    assert safe_shell_exec.execute(["printf", "%s", "$A"], stdout=out) == 0
    assert out.getvalue() == "$A"
    assert tiny_shell_exec.execute("echo a; echo b >&2; exit 3") == ("a\nb\n", 3)


class Notes(io.StringIO):
    """A file that sets an event when it is written to."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def write(self, text):
        super().write(text)
        self.written.set()


def test_an_event_ends_a_command_and_its_children():
    out = Notes()
    code = safe_shell_exec.execute("sleep 1000 & echo $!; wait", stdout=out, events=[out.written])
    assert code == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(out.getvalue()), 0)


def test_an_event_ends_children_that_outlive_the_command():
    out = Notes()
    code = safe_shell_exec.execute("sleep 1000 & echo $!", stdout=out, events=[out.written])
    assert code in (0, -signal.SIGTERM)
    with pytest.raises(ProcessLookupError):
        os.kill(int(out.getvalue()), 0)


def test_a_command_that_ignores_the_signal_is_killed(monkeypatch):
    monkeypatch.setattr(safe_shell_exec, "GRACEFUL_TERMINATION_TIME_S", 0.2)
    out = Notes()
    code = safe_shell_exec.execute("trap '' TERM; echo ready; while :; do sleep 1000; done",
                                   stdout=out, events=[out.written])
    assert code == -signal.SIGKILL
