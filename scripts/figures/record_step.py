# SPDX-License-Identifier: Apache-2.0
"""Records one training step of rank 0, for the figure `step`.

    HOROVOD_FUSION_THRESHOLD=8388608 horovodrun -np 2 python scripts/figures/record_step.py

It needs PyTorch and the Python package. The gradients go one by one (`bucket_bytes=0`), in batches
of up to 8 MiB. Of the last steps the one of median length is kept.
"""

import json
import os
import pathlib
import tempfile
import time

os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"
import torch  # noqa: E402

import horovodpp.torch as hvd  # noqa: E402
import records  # noqa: E402

WARM_UP, STEPS = 40, 21
COMMAND = "HOROVOD_FUSION_THRESHOLD=8388608 horovodrun -np 2 python scripts/figures/record_step.py"


def model():
    widths = [512] + 5 * [1024] + [10]
    layers = [torch.nn.Linear(*pair) for pair in zip(widths, widths[1:])]
    return torch.nn.Sequential(*layers)


def train(net, optimizer, steps):
    """Times at the beginning of each step, after forward, after backward and at the end."""
    x, y = torch.randn(256, 512), torch.randint(0, 10, (256,))
    times = []
    for _ in range(steps):
        begin = time.monotonic()
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        forward = time.monotonic()
        loss.backward()
        backward = time.monotonic()
        optimizer.step()
        times.append((begin, forward, backward, time.monotonic()))
    return times


def reductions(timeline):
    """(name, begin, end) of each reduction, in microseconds since the timeline began."""
    names, begun = {}, {}
    for event in timeline:
        if event["name"] == "process_name":
            names[event["pid"]] = event["args"]["name"].removeprefix("allreduce.")
        elif event["ph"] == "B":  # The first is NEGOTIATE_ALLREDUCE, if that took time.
            begun.setdefault(event["pid"], event["ts"])
        elif event["ph"] == "E" and event["name"] == "ALLREDUCE":
            yield names[event["pid"]], begun.pop(event["pid"]), event["ts"]


def milliseconds(name, begin, end, start):
    return name, round((begin - start) / 1e3, 2), round((end - start) / 1e3, 2)


def main():
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(hvd.rank())
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9),
                                         net.named_parameters(), bucket_bytes=0)
    hvd.broadcast_parameters(net.state_dict(), root_rank=0)
    train(net, optimizer, WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "timeline.json")
        hvd.barrier()
        hvd.start_timeline(path)
        began = time.monotonic()  # The timeline counts from here.
        times = train(net, optimizer, STEPS)
        hvd.stop_timeline()
        if hvd.rank() != 0:
            return
        spans = list(reductions(json.loads(path.read_text())))
    steps = sorted(times, key=lambda step: step[-1] - step[0])
    start, forward, backward, end = ((at - began) * 1e6 for at in steps[STEPS // 2])
    phases = [("forward", start, forward), ("backward", forward, backward), ("step", backward, end)]
    within = [span for span in spans if start <= span[1] <= end]
    records.write("step", COMMAND, phases=[milliseconds(*phase, start) for phase in phases],
                  reductions=[milliseconds(*span, start) for span in within])


if __name__ == "__main__":
    main()
