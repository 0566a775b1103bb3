# SPDX-License-Identifier: Apache-2.0
"""Writes Fashion-MNIST as PNG files in a folder per class, for fashion_mnist --image-folder:

    python3 examples/cpp/fashion_mnist_files.py clothes --limit 6000

It needs Python alone, and the files of Debian's package dataset-fashion-mnist.
"""

import argparse
import gzip
import pathlib
import struct
import zlib

CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "ankle-boot")


def read_idx(path):
    """The sizes and the bytes of an IDX file."""
    data = gzip.decompress(path.read_bytes())
    sizes = struct.unpack_from(f">{data[3]}I", data, 4)
    return sizes, data[4 + 4 * len(sizes):]


def png(width, height, pixels):
    """A PNG file of gray pixels."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write(data, split, folder, limit):
    (count, height, width), pixels = read_idx(data / f"{split}-images-idx3-ubyte.gz")
    _, labels = read_idx(data / f"{split}-labels-idx1-ubyte.gz")
    for name in CLASSES:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i in range(min(count, limit or count)):
        image = pixels[i * width * height:(i + 1) * width * height]
        (folder / CLASSES[labels[i]] / f"{i:05}.png").write_bytes(png(width, height, image))


def main():
    parser = argparse.ArgumentParser(description="Writes Fashion-MNIST as PNG files")
    parser.add_argument("folder", type=pathlib.Path, help="gets train/CLASS/*.png and test/…")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist",
                        help="directory with the four .gz files")
    parser.add_argument("--limit", type=int, default=0,
                        help="only this many images of each half; 0: all")
    options = parser.parse_args()
    write(options.data, "train", options.folder / "train", options.limit)
    write(options.data, "t10k", options.folder / "test", options.limit)


if __name__ == "__main__":
    main()
