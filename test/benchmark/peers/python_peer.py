# SPDX-License-Identifier: Apache-2.0
"""The time of gloo (through torch.distributed) or Horovod for a Work of harness.h, measured
in the same way.

    python_peer.py gloo|horovod FOLDER SECONDS WORK...
"""

import json
import math
import os
import sys
import time

import torch

BACK_TO_BACK_BYTES = 4096
WARM_UPS = 10
SAMPLE_SECONDS = 0.002
SETTLING, IDLENESS, LATENESS = 0.2, 2, 0.3


class Gloo:
    def __init__(self):
        import torch.distributed as distributed
        self.distributed = distributed
        distributed.init_process_group("gloo")
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def barrier(self):
        self.distributed.barrier()

    def greatest(self, value):
        tensor = torch.tensor([value])
        self.distributed.all_reduce(tensor, op=self.distributed.ReduceOp.MAX)
        return tensor.item()

    def sum_each(self, tensors, names):
        pending = [self.distributed.all_reduce(one, async_op=True) for one in tensors]
        for one in pending:
            one.wait()

    def broadcast(self, tensor, name):
        self.distributed.broadcast(tensor, 0)

    def allgather(self, tensor, output, name):
        self.distributed.all_gather_into_tensor(output, tensor)

    def alltoall(self, tensor, output, name):
        self.distributed.all_to_all_single(output, tensor)

    def finish(self):
        self.distributed.destroy_process_group()


class Horovod:
    def __init__(self):
        import horovod.torch as horovod
        self.horovod = horovod
        horovod.init()
        self.rank, self.size = horovod.rank(), horovod.size()

    def barrier(self):
        self.horovod.barrier()

    def greatest(self, value):
        return max(self.horovod.allgather(torch.tensor([value]), name="greatest").tolist())

    def sum_each(self, tensors, names):
        pending = [self.horovod.allreduce_async_(tensor, name=name, op=self.horovod.Sum)
                   for tensor, name in zip(tensors, names)]
        for one in pending:
            self.horovod.synchronize(one)

    def broadcast(self, tensor, name):
        self.horovod.broadcast_(tensor, 0, name=name)

    def allgather(self, tensor, output, name):
        self.horovod.allgather(tensor, name=name)

    def alltoall(self, tensor, output, name):
        self.horovod.alltoall(tensor, name=name)

    def finish(self):
        self.horovod.shutdown()


class Task:
    """A work after its setup; its run is `None` if the library has no such operation."""

    def __init__(self, side, text):
        work, _, size = text.partition(":")
        self.operation, _, form = work.partition(".")
        self.bytes, _, tensors = size.partition("x")
        count = int(tensors or 1)
        each = int(self.bytes) // 4
        self.all_bytes = int(self.bytes) * count
        self.memory = torch.zeros(each * count)
        self.side = side
        whole = [self.memory]
        parts = list(self.memory.split(each)) if form == "each" and count > 1 else whole
        names = [f"{text}.{i}" for i in range(len(parts))]
        output = None
        if side.size > 1 and self.operation in ("allgather", "alltoall"):
            rows = side.size if self.operation == "allgather" else 1
            output = torch.zeros(each * rows)
        calls = {
            "allreduce": lambda: side.sum_each(parts, names),
            "broadcast": lambda: side.broadcast(self.memory, text),
            "allgather": lambda: side.allgather(self.memory, output, text),
            "alltoall": lambda: side.alltoall(self.memory, output, text),
            "barrier": side.barrier,
        }
        calls["idle"] = calls["late"] = calls["allreduce"]
        self.run = calls.get(self.operation)

    def refill(self):
        self.memory.fill_(self.side.rank + 1)

    def sample(self, calls):
        if self.all_bytes > BACK_TO_BACK_BYTES:
            self.refill()
        self.side.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - start) / calls

    def idle_cpu(self):
        for _ in range(100):
            self.run()
        time.sleep(SETTLING)
        start = time.process_time()
        time.sleep(IDLENESS)
        return time.process_time() - start

    def waiting_cpu(self):
        for _ in range(100):
            self.run()
        self.side.barrier()
        if self.side.rank == 0:
            time.sleep(LATENESS)
        start = time.process_time()
        self.run()
        return time.process_time() - start if self.side.rank else 0

    def samples(self, seconds):
        for _ in range(WARM_UPS):
            one = self.sample(1)
        one = self.side.greatest(one)
        calls = 1
        if self.all_bytes <= BACK_TO_BACK_BYTES:
            calls = min(max(int(SAMPLE_SECONDS / one), 1), 2000)
        count = math.floor(min(max(seconds / (one * calls), 5), 200))
        return [self.sample(calls) for _ in range(count)]


def measure(side, text, seconds):
    side.barrier()
    start = time.perf_counter()
    task = Task(side, text)
    if not task.run:
        return {"first_us": 0, "us": []}
    task.refill()
    task.run()
    first = time.perf_counter() - start
    if task.operation == "idle":
        found = [task.idle_cpu()]
    elif task.operation == "late":
        found = [task.waiting_cpu()]
    else:
        found = task.samples(seconds)
    side.barrier()
    return {"first_us": first * 1e6, "us": [one * 1e6 for one in found]}


def main():
    torch.set_num_threads(1)
    side = {"gloo": Gloo, "horovod": Horovod}[sys.argv[1]]()
    side.sum_each([torch.ones(1)], ["hello"])
    if len(sys.argv) > 2:
        path = os.path.join(sys.argv[2], f"{side.rank}.json")
        found = {}
        for text in sys.argv[4:]:
            found[text] = measure(side, text, float(sys.argv[3]))
            with open(path + ".new", "w") as file:
                json.dump(found, file)
            os.replace(path + ".new", path)
    side.finish()


if __name__ == "__main__":
    main()
