# SPDX-License-Identifier: Apache-2.0
"""Compares images_benchmark with Pillow and, where it is installed, torchvision, in one run:
images per second of processor time, the median of the rounds.

    venv/bin/python test/benchmark/images/compare_images.py \\
        build/release/test/benchmark/images_benchmark
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
from PIL import Image, features

try:
    import torch
    from torchvision.transforms import v2
    torch.set_num_threads(1)
except ImportError:
    v2 = None

WIDTH, HEIGHT = 500, 375  # As the typical image of ImageNet.


def write_images(folder, kind, count):
    """Smooth shapes, and some noise."""
    random = numpy.random.default_rng(1)
    (folder / "class").mkdir(parents=True)
    for i in range(count):
        coarse = random.integers(0, 256, (12, 16, 3), numpy.uint8)
        image = numpy.asarray(Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.BICUBIC))
        noise = random.normal(0, 6, image.shape)
        image = numpy.clip(image + noise, 0, 255).astype(numpy.uint8)
        options = {"quality": 90} if kind == "jpg" else {}
        Image.fromarray(image).save(folder / "class" / f"{i}.{kind}", **options)


def rate(paths, use):
    begin = time.process_time()
    for path in paths:
        with Image.open(path) as image:
            use(image.convert("RGB"))
    return len(paths) / (time.process_time() - begin)


def contenders(program, folder):
    """{name: rate} of one round."""
    paths = sorted((folder / "class").iterdir())
    words = subprocess.run([program, folder], check=True, capture_output=True,
                           text=True).stdout.split()
    found = {"horovodpp decode": float(words[1]), "horovodpp augment": float(words[3]),
             "Pillow decode": rate(paths, lambda image: image.load())}
    if v2 is not None:
        transform = v2.Compose([
            v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
            v2.ToImage(), v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
        found["Pillow, torchvision augment"] = rate(paths, transform)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"Pillow with libjpeg-turbo {features.version('libjpeg_turbo')}")
    for kind in ("jpg", "png"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / kind
            write_images(folder, kind, options.images)
            rounds = [contenders(options.program, folder) for _ in range(options.rounds)]
        for contender in rounds[0]:
            rates = sorted(each[contender] for each in rounds)
            print(f"{kind} {contender}: {statistics.median(rates):.0f} images/s "
                  f"({rates[0]:.0f} to {rates[-1]:.0f})")


if __name__ == "__main__":
    main()
