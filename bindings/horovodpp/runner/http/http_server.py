# SPDX-License-Identifier: Apache-2.0
"""A store of keys and values over HTTP, under the names of horovod.runner.http.http_server.

    server = KVStoreServer()
    port = server.start()
    put_data_into_kvstore("127.0.0.1", port, "scope", "key", [1, 2])     # Of http_client.
    server.stop()

GET, PUT and DELETE of /SCOPE/KEY read, write and remove a value, which is bytes. A missing value is
404. The server asks for no password: every program that reaches its port can read and write.
"""
import http.server
import threading
import urllib.parse

from horovodpp.runner.missing import missing

_MOST_BYTES = 1 << 30  # Of a value.


class KVStoreHandler(http.server.BaseHTTPRequestHandler):
    """Answers one connection of a KVStoreServer."""

    def do_GET(self):
        key = self._key()
        if key is None:
            return
        with self.server.lock:
            value = self.server.values.get(key)
        if value is None:
            self.send_error(404, "no value of this key")
        else:
            self._answer(value)

    def do_PUT(self):
        key = self._key()
        length = self.headers.get("Content-Length", "")
        if key is None:
            return
        if not length.isdecimal():
            self.send_error(411, "Content-Length is a number")
            return
        if int(length) > _MOST_BYTES:
            self.send_error(413, f"a value has at most {_MOST_BYTES} bytes")
            return
        value = self.rfile.read(int(length))
        with self.server.lock:
            self.server.values[key] = value
        self._answer(b"")

    def do_DELETE(self):
        key = self._key()
        if key is None:
            return
        with self.server.lock:
            self.server.values.pop(key, None)
        self._answer(b"")

    def log_message(self, format, *args):  # noqa: A002  (The base class's name.)
        if self.server.verbose:
            super().log_message(format, *args)

    def _key(self):
        """(scope, key) of the path; answers with an error and returns None for another path."""
        parts = urllib.parse.unquote(self.path).strip("/").split("/", 1)
        if len(parts) == 2 and all(parts):
            return tuple(parts)
        self.send_error(400, "the path is /SCOPE/KEY")
        return None

    def _answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    """The values, and the lock that guards them."""
    daemon_threads = True

    def __init__(self, handler, verbose):
        self.values = {}  # (scope, key) -> bytes
        self.lock = threading.Lock()
        self.verbose = verbose
        super().__init__(("", 0), handler)


class KVStoreServer:
    """Serves a store on a free port of all interfaces, in a thread."""

    def __init__(self, verbose=0):
        self._verbose = verbose
        self._server = None

    def start(self, handler_cls=KVStoreHandler):
        """Starts the server, and returns its port."""
        if self._server is not None:
            raise RuntimeError("this KVStoreServer was started already: make another one")
        self._server = _Server(handler_cls, self._verbose)
        threading.Thread(target=self._server.serve_forever, name="horovodpp.kvstore",
                         daemon=True).start()
        return self._server.server_address[1]

    def stop(self):
        """Ends the server and frees its port. Its values are lost."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


_INSTEAD = ("ranks find each other through horovodrun; for a store of your own there is "
            "KVStoreServer")
RendezvousServer = missing("http.http_server", "RendezvousServer", _INSTEAD)
RendezvousHandler = missing("http.http_server", "RendezvousHandler", _INSTEAD)
