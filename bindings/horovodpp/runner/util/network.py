# SPDX-License-Identifier: Apache-2.0
"""Addresses of this machine, under the names of horovod.runner.util.network."""
import socket

from horovodpp.runner.exchange import addresses_of


def get_local_host_addresses():
    """The IPv4 addresses of this machine, a list."""
    return list(addresses_of().values())


def filter_local_addresses(all_host_names):
    """The names, of a list, that are other machines. A name that cannot be resolved is another."""
    own = {"127.0.0.1", *get_local_host_addresses()}

    def is_local(name):
        try:
            return socket.gethostbyname(name) in own
        except OSError:
            return False

    return [name for name in all_host_names if not is_local(name)]


def get_driver_ip(nics):
    """The IPv4 address of one of the interfaces named in `nics`.

    Raises RuntimeError if none has an address.
    """
    found = addresses_of()
    for name in nics:
        if name in found:
            return found[name]
    raise RuntimeError(f"none of the interfaces {', '.join(nics)} has an IPv4 address; those with "
                       f"one: {', '.join(found)}")
