# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.elastic.rendezvous. Ranks find each other through horovodrun."""
from horovodpp.runner.missing import missing

create_rendezvous_handler = missing(
    "elastic.rendezvous", "create_rendezvous_handler",
    "ranks find each other through horovodrun, or through hvd.init() under other launchers")
