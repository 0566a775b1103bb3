# SPDX-License-Identifier: Apache-2.0
"""The settings of a job, under the names of horovod.runner.common.util.settings."""
import os


class BaseSettings:
    """The settings of a job. `run_arguments()` gives them to horovodpp.run().

    `key`, `binding_args`, `tcp_flag` and `run_func_mode` are kept, and have no effect.
    """

    def __init__(self, num_proc=None, verbose=0, ssh_port=None, ssh_identity_file=None,
                 extra_mpi_args=None, tcp_flag=None, binding_args=None, key=None,
                 start_timeout=None, output_filename=None, run_func_mode=None, nics=None,
                 elastic=False, prefix_output_with_timestamp=False, env=None):
        self.num_proc = num_proc
        self.verbose = verbose
        self.ssh_port = ssh_port
        self.ssh_identity_file = ssh_identity_file
        self.extra_mpi_args = extra_mpi_args
        self.tcp_flag = tcp_flag
        self.binding_args = binding_args
        self.key = key
        self.start_timeout = start_timeout
        self.output_filename = output_filename
        self.run_func_mode = run_func_mode
        self.nics = nics
        self.elastic = elastic
        self.prefix_output_with_timestamp = prefix_output_with_timestamp
        self.env = env

    def run_arguments(self):
        """The arguments for horovodpp.run(), a dict.

        `start_timeout` may be a Timeout, of which the remaining seconds count.
        """
        remaining = getattr(self.start_timeout, "remaining", None)
        seconds = max(1, round(remaining())) if remaining else self.start_timeout
        arguments = {
            "num_proc": self.num_proc, "verbose": self.verbose or None, "ssh_port": self.ssh_port,
            "ssh_identity_file": self.ssh_identity_file, "mpi_args": self.extra_mpi_args,
            "start_timeout": seconds, "output_filename": self.output_filename,
            "network_interfaces": sorted(self.nics) if self.nics else None, "env": self.env}
        return {name: value for name, value in arguments.items() if value is not None}

    def environment(self, added):
        """The environment of the ranks, with the variables of the dict `added`."""
        return {**(os.environ if self.env is None else self.env), **added}


class Settings(BaseSettings):
    """The settings of a job on `hosts`, "a:2,b:2". By default it runs on this machine."""

    def __init__(self, hosts=None, **kwargs):
        super().__init__(**kwargs)
        self.hosts = hosts

    def run_arguments(self):
        """The arguments for horovodpp.run(), a dict."""
        return {**super().run_arguments(), **({"hosts": self.hosts} if self.hosts else {})}
