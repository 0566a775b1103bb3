# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.common.util.network."""
import socket

from horovodpp.runner.missing import missing


class NoValidAddressesFound(Exception):
    """None of a host's addresses can be reached."""


def find_port(server_factory):
    """(server, port) of `server_factory((address, port))`, at a free port of all interfaces."""
    server = server_factory(("", 0))
    return server, server.socket.getsockname()[1]


def resolve_host_address(host_name):
    """The IPv4 address of a host, or None."""
    try:
        return socket.gethostbyname(host_name)
    except OSError:
        return None


_INSTEAD = ("use multiprocessing.connection, whose Listener and Client check a key too; between "
            "ranks, hvd.broadcast_object() and hvd.allgather_object()")
BasicService = missing("common.util.network", "BasicService", _INSTEAD)
BasicClient = missing("common.util.network", "BasicClient", _INSTEAD)
