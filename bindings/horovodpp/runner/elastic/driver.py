# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.elastic.driver. horovodrun drives elastic jobs."""
from horovodpp.runner.missing import missing

ElasticDriver = missing("elastic.driver", "ElasticDriver",
                        "call horovodpp.run(function, min_num_proc=..., host_discovery_script=...)")
