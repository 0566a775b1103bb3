# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.mpi_run. horovodrun starts mpirun."""
from horovodpp.runner.missing import missing

mpi_run = missing("mpi_run", "mpi_run",
                  "call horovodpp.run(function, use_mpi=True), or start horovodrun --mpi")
