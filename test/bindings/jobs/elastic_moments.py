# SPDX-License-Identifier: Apache-2.0
"""A rank of elastic_moments_test.py: `elastic_moments.py MOMENT VICTIM`.

It trains under hvd.elastic.run. Rank VICTIM dies at that moment of step DEADLY. Each other rank
prints its number, the size of the job, and its parameters at the end.
"""
import json
import os
import signal
import sys

import torch

MOMENTS = ("before backward", "in backward", "between backward and step", "in step")
STEPS = 6
DEADLY = 3


def first_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def loss_of(model, step, rank):
    """The loss of a rank's batch, which depends on the step and the rank alone."""
    generator = torch.Generator().manual_seed(100 * step + rank)
    return model(torch.randn(5, 3, generator=generator)).square().mean()


def end_of(sizes):
    """The parameters after training alone, where step k has the batches of sizes[k] ranks."""
    model = first_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step, size in enumerate(sizes):
        optimizer.zero_grad()
        (sum(loss_of(model, step, rank) for rank in range(size)) / size).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(model.parameters())


def train(moment, victim):
    import horovodpp.torch as hvd

    hvd.init()
    ranks = hvd.size()
    state = None

    def reach(place):
        """Dies here, if it is the victim's place."""
        if place == moment and hvd.rank() == victim and hvd.size() == ranks and \
                state.step == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)

    class Sgd(torch.optim.SGD):
        def step(self, closure=None):
            reach("in step")
            return super().step(closure)

    model = first_model()
    model[2].weight.register_hook(lambda gradient: reach("in backward"))
    optimizer = hvd.DistributedOptimizer(Sgd(model.parameters(), lr=0.1, momentum=0.9),
                                         model.named_parameters())
    state = hvd.elastic.TorchState(model, optimizer, step=0)

    @hvd.elastic.run
    def run(state):
        while state.step < STEPS:
            optimizer.zero_grad()
            loss = loss_of(model, state.step, hvd.rank())
            reach("before backward")
            loss.backward()
            reach("between backward and step")
            optimizer.step()
            state.step += 1
            state.commit()

    run(state)
    end = torch.nn.utils.parameters_to_vector(model.parameters()).tolist()
    print("end " + json.dumps([hvd.rank(), hvd.size(), end]), flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]))
