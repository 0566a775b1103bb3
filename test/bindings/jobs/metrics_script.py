# SPDX-License-Identifier: Apache-2.0
"""A rank that reduces ten times, and reads its own metrics over HTTP into a file of a folder."""
import os
import sys
import urllib.request

import numpy

import horovodpp as hvd

hvd.init()
for step in range(10):
    hvd.allreduce(numpy.ones(100, dtype=numpy.float32), name="a")
if folder := sys.argv[1]:
    port = int(os.environ["HOROVODPP_METRICS_PORT"]) + hvd.local_rank()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read()
    with open(f"{folder}/served.{hvd.rank()}", "wb") as file:
        file.write(text)
hvd.barrier()
hvd.shutdown()
