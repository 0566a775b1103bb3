# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.elastic.worker."""
from horovodpp.runner.missing import missing


class HostUpdateResult:
    """The changes of hosts, as hvd.elastic.State.on_hosts_updated() takes them."""
    no_update = 0
    removed = 1
    added = 2
    mixed = removed | added


WorkerNotificationManager = missing(
    "elastic.worker", "WorkerNotificationManager",
    "horovodrun tells the ranks about new hosts; state.commit() and state.check_host_updates() "
    "raise HostsUpdatedInterrupt")
