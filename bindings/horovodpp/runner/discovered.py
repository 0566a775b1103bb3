# SPDX-License-Identifier: Apache-2.0
"""Gives the hosts of a HostDiscovery, an object of this process, to horovodrun."""
import contextlib
import logging
import pathlib
import tempfile
import threading

_SECONDS_BETWEEN = 1
_SECONDS_TO_END = 2


@contextlib.contextmanager
def script_of(discovery):
    """The path of a discovery script for horovodrun: `discovery` itself unless it is an object.

    The hosts of an object are asked for every second while the context lasts; if that fails later
    than the first time, the last hosts stay.
    """
    if not hasattr(discovery, "find_available_hosts_and_slots"):
        yield discovery
        return
    with tempfile.TemporaryDirectory(prefix="horovodpp-hosts-") as folder:
        hosts = pathlib.Path(folder, "hosts")
        script = pathlib.Path(folder, "print_hosts.sh")
        script.write_text('#!/bin/sh\ncat "$(dirname "$0")/hosts"\n')
        script.chmod(0o700)
        _write(discovery, hosts)
        ended = threading.Event()
        thread = threading.Thread(target=_follow, args=(discovery, hosts, ended),
                                  name="horovodpp.discovery", daemon=True)
        thread.start()
        try:
            yield script
        finally:
            ended.set()
            thread.join(_SECONDS_TO_END)  # The discovery may be waiting.


def _follow(discovery, hosts, ended):
    while not ended.wait(_SECONDS_BETWEEN):
        try:
            _write(discovery, hosts)
        except Exception as error:
            logging.getLogger("horovodpp").warning(
                "%s.find_available_hosts_and_slots() failed, so the hosts stay as they are: %s",
                type(discovery).__name__, error)


def _write(discovery, hosts):
    """Replaces the file at once, since horovodrun may read it at any time."""
    found = discovery.find_available_hosts_and_slots()
    new = hosts.with_suffix(".new")
    new.write_text("".join(f"{name}:{slots}\n" for name, slots in found.items()))
    new.replace(hosts)
