# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.gloo_run. horovodrun starts the ranks of a job."""
from horovodpp.runner.missing import missing

_INSTEAD = "call horovodpp.run(function, num_proc=...), or start horovodrun --no-mpi"

launch_gloo = missing("gloo_run", "launch_gloo", _INSTEAD)
launch_gloo_elastic = missing("gloo_run", "launch_gloo_elastic",
                              _INSTEAD + "; min_num_proc makes the job elastic")
gloo_run = missing("gloo_run", "gloo_run", _INSTEAD)
gloo_run_elastic = missing("gloo_run", "gloo_run_elastic",
                           _INSTEAD + "; min_num_proc makes the job elastic")
