# SPDX-License-Identifier: Apache-2.0
"""A name of this machine, under the name of horovod.runner.common.util.host_hash."""
import hashlib
import os
import socket


def host_hash(salt=None):
    """Text that is equal for processes of one host, and of one container, alone.

    salt: text that tells jobs apart.
    """
    name = socket.gethostname()
    # Containers of one machine may share its name, but not its namespaces.
    parts = [name, os.readlink("/proc/self/ns/mnt"), str(salt or "")]
    return f"{name.split('.')[0]}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}"
