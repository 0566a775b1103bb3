#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Photographs the page of `horovodrun report` into docs/figures/report.png.

    python scripts/figures/report_page.py build/dev

Two ranks train a model with torch, whose gradients go one by one (`bucket_bytes=0`). It needs
PyTorch, Chromium, and the targets horovodrun and horovodpp_python.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PICTURE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "figures" / "report.png"
WIDTH, HEIGHT = 1000, 1010

PROGRAM = """
import torch, horovodpp.torch as hvd
torch.set_num_threads(1)
hvd.init()
widths = [256] + 6 * [512] + [10]
net = torch.nn.Sequential(*[torch.nn.Linear(*pair) for pair in zip(widths, widths[1:])])
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.01),
                                     named_parameters=net.named_parameters(), bucket_bytes=0)
x, y = torch.randn(256, 256), torch.randint(0, 10, (256,))
for step in range(60):
    optimizer.zero_grad(set_to_none=False)
    with hvd.span("forward"):
        loss = torch.nn.functional.cross_entropy(net(x), y)
    with hvd.span("backward"):
        loss.backward()
    optimizer.step()
hvd.shutdown()
"""


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    launcher = build / "horovodrun" / "horovodrun"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "HOROVOD_TIMELINE": str(folder / "{rank}.json"),
                       "PYTHONPATH": str(build / "bindings")}
        subprocess.run([launcher, "-np", "2", sys.executable, "-c", PROGRAM], check=True,
                       env=environment)
        page = folder / "report.html"
        subprocess.run([launcher, "report", "--output", page, folder / "0.json", folder / "1.json"],
                       check=True)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars",
                        f"--user-data-dir={folder / 'profile'}", f"--screenshot={PICTURE}",
                        f"--window-size={WIDTH},{HEIGHT}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
