# SPDX-License-Identifier: Apache-2.0
"""A rank of --elastic: it trains under hvd.elastic.run until few enough ranks are left.

  elastic_program.py PIPE left=1

It writes the same events to the pipe as fault_program.cc. Every step checks that the ranks have
the same parameters and are in the same step.
"""
import json
import os
import socket
import sys
import time

import torch

import horovodpp.torch as hvd

WARM_STEPS = 5
LAST_STEPS = 20


class Diary:
    def __init__(self, path, rank):
        self._pipe = os.open(path, os.O_WRONLY)
        self._always = {"rank": rank, "pid": os.getpid(), "host": socket.gethostname()}

    def tell(self, event, text=""):
        line = {"event": event, "ns": time.monotonic_ns(), "text": text[:1500], **self._always}
        os.write(self._pipe, json.dumps(line).encode() + b"\n")


def check_equal(model, step):
    """Raises RuntimeError unless all ranks have these parameters in this step."""
    total = sum(p.double().sum() for p in model.parameters()).item()
    facts = torch.tensor([step, -step, total, -total], dtype=torch.float64)
    most = hvd.allreduce(facts, op=hvd.Max, name="facts")
    if not torch.equal(most, facts):
        raise RuntimeError(f"ranks differ: {facts.tolist()} here, at most {most.tolist()}")


def step_of(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(16, 64)).square().mean().backward()
    optimizer.step()


def live(pipe, left):
    torch.set_num_threads(1)
    hvd.init()
    diary = Diary(pipe, hvd.rank())
    diary.tell("started")
    torch.manual_seed(hvd.rank())
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    # Some gradients are held back, and others are sent at once.
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
                                         model.named_parameters(), bucket_bytes=16 << 10)
    state = hvd.elastic.TorchState(model, optimizer, step=0, last=0)

    def formed():
        hvd.allreduce(torch.ones(1000), name="callback")  # Another place to die.
        diary.tell("formed", str(hvd.size()))

    state.register_reset_callbacks([formed])

    def steps():
        more = True
        while more:
            step_of(model, optimizer)
            state.step += 1
            check_equal(model, state.step)
            if state.step == WARM_STEPS:
                diary.tell("training")
            if hvd.size() <= left and not state.last:
                state.last = state.step + LAST_STEPS
            if state.step % 3 == 0:
                state.commit()
            more = not state.last or state.step < state.last

    @hvd.elastic.run
    def train(_):
        try:
            steps()
        except hvd.HorovodInternalError as error:
            diary.tell("error", str(error))
            raise

    train(state)
    hvd.shutdown()
    diary.tell("finished")


if __name__ == "__main__":
    live(sys.argv[1], int(sys.argv[2].partition("=")[2]))
