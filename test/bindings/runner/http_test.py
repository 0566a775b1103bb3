# SPDX-License-Identifier: Apache-2.0
import urllib.error
import urllib.request

import pytest

from horovodpp.runner.http.http_client import put_data_into_kvstore, read_data_from_kvstore
from horovodpp.runner.http.http_server import KVStoreServer


@pytest.fixture
def server():
    made = KVStoreServer()
    made.port = made.start()
    yield made
    made.stop()


def status(server, method, path, data=None):
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def test_a_value_is_written_and_read(server):
    value = {"rank": 3, "text": "ä b/c?"}
    put_data_into_kvstore("127.0.0.1", server.port, "a scope", "key/ä?", value)
    assert read_data_from_kvstore("127.0.0.1", server.port, "a scope", "key/ä?") == value
    with pytest.raises(RuntimeError, match="could not read a scope/other from the store at"):
        read_data_from_kvstore("127.0.0.1", server.port, "a scope", "other")


def test_values_are_bytes_of_scopes(server):
    assert status(server, "PUT", "/a/k", b"1") == (200, b"")
    assert status(server, "PUT", "/b/k", b"") == (200, b"")
    assert status(server, "GET", "/a/k") == (200, b"1")
    assert status(server, "GET", "/b/k") == (200, b"")
    assert status(server, "DELETE", "/a/k") == (200, b"")
    assert status(server, "GET", "/a/k")[0] == 404


def test_other_requests_are_refused(server):
    assert status(server, "GET", "/a")[0] == 400
    assert status(server, "PUT", "/a", b"1")[0] == 400
    assert status(server, "DELETE", "/")[0] == 400
    assert status(server, "GET", "/a/%E6%97%A5%0D%0AX-Own:%201")[0] == 404
    assert status(server, "POST", "/a/k", b"1")[0] == 501


def test_a_server_starts_once_and_stops():
    server = KVStoreServer()
    port = server.start()
    with pytest.raises(RuntimeError, match="was started already"):
        server.start()
    server.stop()
    server.stop()
    with pytest.raises(RuntimeError, match=f"could not write a/k into the store at 127.0.0.1:{port}"):
        put_data_into_kvstore("127.0.0.1", port, "a", "k", 1)
