# SPDX-License-Identifier: Apache-2.0
"""The functions that jobs_test.py runs on the ranks."""
import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import time

import numpy

import horovodpp


def places(offset, scale=1):
    horovodpp.init()
    total = horovodpp.allreduce(numpy.array([horovodpp.rank()]), op=horovodpp.Sum)
    return (horovodpp.rank() + offset) * scale, int(total[0])


def fails_on_rank_1():
    horovodpp.init()
    if horovodpp.rank() == 1:
        raise LookupError("no such sample: 17")
    horovodpp.barrier()


def dies_on_rank_1():
    horovodpp.init()
    horovodpp.barrier()
    if horovodpp.rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        horovodpp.barrier()
    except horovodpp.HorovodInternalError as error:
        print(f"rank 0 was told: {error}", flush=True)
        raise


def names_its_host():
    horovodpp.init()
    horovodpp.barrier()
    return socket.gethostname()


def loses_rank_1():
    import torch

    import horovodpp.torch as hvd
    hvd.init()
    state = hvd.elastic.ObjectState(step=0)
    first = hvd.size()

    @hvd.elastic.run
    def train(state):
        while state.step < 20:
            hvd.allreduce(torch.ones(1), name="step")
            if state.step == 5 and hvd.rank() == 1 and hvd.size() == first:
                os.kill(os.getpid(), signal.SIGKILL)
            state.step += 1
            state.commit()
        return "went on"

    return train(state)


def prints():
    print("heard here", flush=True)


def waits_for_a_rank_that_sleeps():
    _wait_until_interrupted(lambda: horovodpp.allreduce(numpy.ones(1)))


def orders_a_stream_behind_a_call_that_waits_for_a_sleeping_rank():
    def wait():
        handle = horovodpp.allreduce_async(numpy.ones(1), name="awaited")
        try:
            horovodpp.wait_in_stream(handle, 0)
        except KeyboardInterrupt:
            assert not horovodpp.poll(handle)  # Still in flight.
            raise

    _wait_until_interrupted(wait)


def _wait_until_interrupted(wait):
    horovodpp.init()
    try:
        if horovodpp.rank() == 0:
            print("waiting", flush=True)
            wait()
        time.sleep(60)
    except KeyboardInterrupt:
        if horovodpp.rank() == 0:
            print("interrupted", flush=True)
        else:  # Rank 0 ends first, whichever rank gets the signal first.
            with contextlib.suppress(horovodpp.HorovodInternalError):
                horovodpp.barrier()
        raise


def die_on_the_way_back():
    """Rank 5 dies in mid-step. Ranks other than 1 die at later places of the recovery."""
    import torch

    import horovodpp.torch as hvd
    hvd.init()
    rank = hvd.rank()
    place_of = {4: "restore", 3: "reset", 2: "callback", 0: "sync"}

    def here(place):
        if place_of.get(rank) == place:
            os.kill(os.getpid(), signal.SIGKILL)

    class State(hvd.elastic.TorchState):
        def restore(self):
            super().restore()
            here("restore")

        def reset(self):
            here("reset")
            super().reset()

    def callback():
        here("callback")
        hvd.allreduce(torch.ones(2), name="callback")

    model = torch.nn.Linear(4, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters())
    state = State(model, optimizer, step=0)
    state.register_reset_callbacks([callback])
    begun = []

    def receive_of_rank_0(receive=state._handlers["optimizer"].receive):
        take_over = receive()
        if begun:
            here("sync")  # Other ranks have received rank 0's parameters then, but nothing else.
        return take_over

    state._handlers["optimizer"].receive = receive_of_rank_0

    @hvd.elastic.run
    def train(state):
        if begun:
            # Rank 0's different commit had been sent only in part.
            assert state.step == 2 and not torch.any(model.weight == 100), (state.step, model.weight)
        begun.append(hvd.size())
        while state.step < 5:
            optimizer.zero_grad()
            model(torch.randn(3, 4)).sum().backward()
            if state.step == 2 and begun == [6]:
                if rank == 0:
                    with torch.no_grad():
                        model.weight.fill_(100)
                    state.step = 100
                    state.save()
                if rank == 5:
                    os.kill(os.getpid(), signal.SIGKILL)
            optimizer.step()
            state.step += 1
            state.commit()

    train(state)
    assert begun == [6, 1], begun
    print(f"rank {rank} is alone, after {state.step} steps", flush=True)
    hvd.shutdown()


def loads_with_workers():
    import torch
    horovodpp.init()
    data = torch.utils.data.TensorDataset(torch.arange(20.0))
    seen = 0.0
    for _ in range(2):
        for batch, in torch.utils.data.DataLoader(data, batch_size=5, num_workers=1,
                                                  multiprocessing_context="fork"):
            seen += float(horovodpp.allreduce(batch, op=horovodpp.Sum).sum())
    return seen / horovodpp.size()


def communicates_in_a_child():
    """Returns the error that a forked child gets."""
    horovodpp.init()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        told = pool.apply(_communicates)
    horovodpp.barrier()
    return told


def _communicates():
    assert not horovodpp.is_initialized()
    try:
        horovodpp.allreduce(numpy.ones(1))
    except horovodpp.InvalidCallError as error:
        return str(error)
    return "nothing"


def grows():
    """The bytes that 2,000 steps add to this process."""
    import torch

    import horovodpp.torch as hvd
    hvd.init()
    torch.set_num_threads(1)
    model = torch.nn.Linear(20, 20)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                         model.named_parameters())

    def steps(count):
        for step in range(count):
            optimizer.zero_grad()
            model(torch.ones(4, 20)).square().mean().backward()
            optimizer.step()
            hvd.allreduce(torch.ones(100))
            if step % 10 == 0:
                hvd.allgather(torch.ones(10, 10))

    steps(250)
    before = _resident()
    steps(2000)
    return _resident() - before


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
