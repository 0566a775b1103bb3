# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.js_run. IBM's launcher is not supported."""
from horovodpp.runner.missing import missing

js_run = missing("js_run", "js_run",
                 "start horovodrun in the LSF job, which takes the job's hosts; or let jsrun start "
                 "the ranks")
