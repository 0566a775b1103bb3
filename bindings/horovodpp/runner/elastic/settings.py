# SPDX-License-Identifier: Apache-2.0
"""The settings of an elastic job, under the name of horovod.runner.elastic.settings."""
from horovodpp.runner.common.util.settings import BaseSettings


class ElasticSettings(BaseSettings):
    """The settings of an elastic job.

        settings = ElasticSettings(discovery=HostDiscoveryScript("./hosts.sh"), min_num_proc=2,
                                   max_num_proc=4, elastic_timeout=600, reset_limit=3)
        horovodpp.run(train, **settings.run_arguments())

    discovery: a HostDiscovery. The other arguments are those of horovodpp.run() and BaseSettings.
    """

    def __init__(self, discovery, min_num_proc, max_num_proc, elastic_timeout=None,
                 reset_limit=None, cooldown_range=None, **kwargs):
        super().__init__(elastic=True, **kwargs)
        self.discovery = discovery
        self.min_num_proc = min_num_proc
        self.max_num_proc = max_num_proc
        self.elastic_timeout = elastic_timeout
        self.reset_limit = reset_limit
        self.cooldown_range = cooldown_range

    def run_arguments(self):
        """The arguments for horovodpp.run(), a dict.

        `elastic_timeout` travels as HOROVOD_ELASTIC_TIMEOUT in `env`.
        """
        arguments = {**super().run_arguments(), "host_discovery_script": self.discovery,
                     "min_num_proc": self.min_num_proc, "max_num_proc": self.max_num_proc,
                     "reset_limit": self.reset_limit, "cooldown_range": self.cooldown_range}
        if self.elastic_timeout is not None:
            arguments["env"] = self.environment({
                "HOROVOD_ELASTIC_TIMEOUT": str(self.elastic_timeout)})
        return {name: value for name, value in arguments.items() if value is not None}
