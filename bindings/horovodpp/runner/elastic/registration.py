# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.elastic.registration. horovodrun watches the ranks."""
from horovodpp.runner.missing import missing

WorkerStateRegistry = missing("elastic.registration", "WorkerStateRegistry",
                              "horovodrun watches the ranks and ends or mends the job")
