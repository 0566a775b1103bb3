# SPDX-License-Identifier: Apache-2.0
"""Reads and writes a KVStoreServer, under the names of horovod.runner.http.http_client.

Values are pickled. Unpickling runs code that the value names: read only from a store that no
stranger reaches.
"""
import pickle
import urllib.parse
import urllib.request

from horovodpp.common.pickling import dumps


def _url(addr, port, scope, key):
    return f"http://{addr}:{port}/{urllib.parse.quote(f'{scope}/{key}')}"


def read_data_from_kvstore(addr, port, scope, key):
    """Returns the value. Raises RuntimeError if the store has none or is out of reach."""
    try:
        with urllib.request.urlopen(_url(addr, port, scope, key)) as answer:
            return pickle.loads(answer.read())
    except OSError as error:
        raise RuntimeError(f"could not read {scope}/{key} from the store at {addr}:{port}: "
                           f"{error}") from error


def put_data_into_kvstore(addr, port, scope, key, value):
    """Writes the value. Raises RuntimeError if the store is out of reach."""
    request = urllib.request.Request(_url(addr, port, scope, key), dumps(value), method="PUT")
    try:
        urllib.request.urlopen(request).close()
    except OSError as error:
        raise RuntimeError(f"could not write {scope}/{key} into the store at {addr}:{port}: "
                           f"{error}") from error
