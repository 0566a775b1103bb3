# SPDX-License-Identifier: Apache-2.0
"""The exchange between run() and its ranks: they fetch the function, and return what became of it.

Connections know a secret of the job (multiprocessing.connection), which the ranks get in their
environment together with the addresses of this host.
"""
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import pickle
import secrets
import socket
import struct
import threading

VARIABLE = "HOROVODPP_RUN_AT"  # "KEY@ADDRESS,ADDRESS:PORT"
_SECONDS_TO_CONNECT = 10
_SIOCGIFADDR = 0x8915


class Exchange:
    """Serves `function`, bytes, to ranks on this machine, or on all hosts; keeps their answers."""

    def __init__(self, function, hosts=False, interfaces=()):
        self.results = {}  # Rank -> pickled result.
        self.failures = []  # Pickled (time, rank, exception, traceback).
        self._function = function
        self._key = secrets.token_hex(16)
        self._listener = multiprocessing.connection.Listener(
            ("" if hosts else "127.0.0.1", 0), backlog=1024, authkey=self._key.encode())
        own = [address for name, address in addresses_of().items()
               if hosts and (not interfaces or name in interfaces)]
        self.place = f"{self._key}@{','.join([*own, '127.0.0.1'])}:{self._listener.address[1]}"
        self._lock = threading.Lock()
        self._is_open = True
        threading.Thread(target=self._serve, name="horovodpp.run", daemon=True).start()

    def close(self):
        self._is_open = False
        self._listener.close()

    def _serve(self):
        while self._is_open:
            try:
                rank = self._listener.accept()
            except multiprocessing.AuthenticationError:
                continue  # Another program tried the port.
            except (OSError, EOFError):
                continue  # That program has left; or close().
            threading.Thread(target=self._answer, args=(rank,), daemon=True).start()

    def _answer(self, connection):
        with connection:
            try:
                kind, rank, value = connection.recv()
                if kind == "function":
                    connection.send_bytes(self._function)
                    return
                with self._lock:
                    if kind == "result":
                        self.results[rank] = value
                    else:
                        self.failures.append(pickle.loads(value))
                connection.send_bytes(b"")
            except (OSError, EOFError):
                return  # The rank has died.


def ask(kind, rank=-1, value=b""):
    """A rank's side: fetches the "function", or delivers a "result" or a "failure"."""
    key, _, where = os.environ[VARIABLE].partition("@")
    hosts, _, port = where.rpartition(":")
    failed = []
    for host in hosts.split(","):
        try:
            # Tries an address that is out of reach for a short time only.
            socket.create_connection((host, int(port)), _SECONDS_TO_CONNECT).close()
            with multiprocessing.connection.Client((host, int(port)),
                                                   authkey=key.encode()) as connection:
                connection.send((kind, rank, value))
                return connection.recv_bytes()
        except (OSError, EOFError, multiprocessing.AuthenticationError) as error:
            failed.append(f"{host}: {error}")
    raise ConnectionError(f"the program that called horovodpp.run() is out of reach at port {port} "
                          f"({'; '.join(failed)}): open its firewall to the hosts, or name the "
                          "network with network_interfaces")


def addresses_of():
    """{interface: its IPv4 address}, without the loopback's."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(any_socket.fileno(), _SIOCGIFADDR,
                                     struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # It has no address.
            found[name] = socket.inet_ntoa(answer[20:24])
    return {name: address for name, address in found.items() if not address.startswith("127.")}
