# SPDX-License-Identifier: Apache-2.0
"""Times single operations, forward and backward, against PyTorch.

    compare_operations.py build/dev/test/benchmark/operations_benchmark
    compare_operations.py PROGRAM --rows sin,softmax --threads 1 --rounds 15

Both processes have the same rows on operands of the same sizes and take turns. For each number of
threads, prints the medians (or --quantile) in milliseconds, their ratio, and the geometric mean of
the ratios.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

from contenders import Contender


def torch_rows():
    """As operations_benchmark.cc: a row makes its leaf, its operation, and says whether it has a
    backward."""
    import torch
    from torch.nn import functional as F

    matrix, images = (8192, 768), (16, 64, 56, 56)
    rows = {}

    def leaf(*shape):
        return torch.randn(*shape, requires_grad=True)

    def indices(size, *shape):
        return torch.randint(size, shape)

    simple = {
        "neg": lambda x: -x,
        "add_number": lambda x: x + 1.5,
        "mul_number": lambda x: x * 1.5,
        "add": lambda x: x + x,
        "sub": lambda x: x - x,
        "mul": lambda x: x * x,
        "div": lambda x: x / x,
        "pow2": lambda x: x**2.0,
        "pow3": lambda x: x**3.0,
        "abs": torch.abs,
        "exp": torch.exp,
        "sqrt": torch.sqrt,
        "log": torch.log,
        "sin": torch.sin,
        "cos": torch.cos,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "erf": torch.erf,
        "relu": torch.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "clamp": lambda x: torch.clamp(x, -0.5, 0.5),
        "sum": torch.sum,
        "sum_rows": lambda x: x.sum(1),
        "sum_columns": lambda x: x.sum(0),
        "mean": torch.mean,
        "max": torch.max,
        "max_rows": lambda x: x.max(1).values,
        "softmax": lambda x: torch.softmax(x, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "sort": lambda x: torch.sort(x, stable=True).values,
        "topk": lambda x: torch.topk(x, 10).values,
        "silu": F.silu,
        "softplus": F.softplus,
        "mish": F.mish,
        "elu": F.elu,
        "leaky_relu": F.leaky_relu,
        "hardswish": F.hardswish,
        "hardtanh": F.hardtanh,
        "relu6": F.relu6,
        "log_sigmoid": F.logsigmoid,
        "celu": F.celu,
        "selu": F.selu,
        "softsign": F.softsign,
        "hardsigmoid": F.hardsigmoid,
        "hardshrink": F.hardshrink,
        "softshrink": F.softshrink,
        "threshold": lambda x: F.threshold(x, 0.1, 0.5),
        "log1p": torch.log1p,
        "expm1": torch.expm1,
        "rsqrt": torch.rsqrt,
        "reciprocal": torch.reciprocal,
        "exp2": torch.exp2,
        "log2": torch.log2,
        "log10": torch.log10,
        "sinh": torch.sinh,
        "cosh": torch.cosh,
        "tan": torch.tan,
        "atan": torch.atan,
        "asin": torch.asin,
        "acos": torch.acos,
        "asinh": torch.asinh,
        "acosh": torch.acosh,
        "atanh": torch.atanh,
        "erfc": torch.erfc,
        "erfinv": torch.erfinv,
        "logit": torch.logit,
        "nan_to_num": torch.nan_to_num,
        "sinc": torch.sinc,
        "sign": torch.sign,
        "floor": torch.floor,
        "round": torch.round,
        "trunc": torch.trunc,
        "frac": torch.frac,
        "dropout": lambda x: F.dropout(x, 0.1),
        "clone": torch.clone,
        "cat": lambda x: torch.cat([x, x], 1),
        "narrow": lambda x: x.narrow(1, 128, 512),
        "roll": lambda x: torch.roll(x, 5, 1),
        "flip": lambda x: torch.flip(x, [1]),
        "pad": lambda x: F.pad(x, (1, 1, 1, 1)),
        "cumsum": lambda x: torch.cumsum(x, 1),
        "cumsum_columns": lambda x: torch.cumsum(x, 0),
        "prod_rows": lambda x: torch.prod(x, 1),
        "var_rows": lambda x: torch.var(x, 1),
        "std_rows": lambda x: torch.std(x, 1),
        "norm": torch.linalg.vector_norm,
    }
    for name, function in simple.items():
        rows[name] = lambda f=function: (leaf(*matrix), f, True)
    forward = {
        "gt_number": lambda x: x > 0.5,
        "eq": lambda x: x == x,
        "isnan": torch.isnan,
        "isinf": torch.isinf,
        "isfinite": torch.isfinite,
        "to_bf16": lambda x: x.to(torch.bfloat16),
        "to_f64": lambda x: x.to(torch.float64),
        "argmax_rows": lambda x: x.argmax(1),
        "t_contiguous": lambda x: x.t().contiguous(),
    }
    for name, function in forward.items():
        rows[name] = lambda f=function: (torch.randn(*matrix), f, False)
    image = {
        "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
        "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
        "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
        "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    }
    for name, function in image.items():
        rows[name] = lambda f=function: (leaf(*images), f, True)
    deep = (4, 32, 16, 28, 28)
    rows["max_pool3d"] = lambda: (leaf(*deep), lambda x: F.max_pool3d(x, 2), True)

    def with_operands(name, make, shape=matrix, backward=True):
        """make() returns the operation, with its other operands."""
        rows[name] = lambda: (
            leaf(*shape) if backward else torch.randn(*shape),
            make(),
            backward,
        )

    def where():
        condition = torch.rand(*matrix) < 0.5
        return lambda x: torch.where(condition, x, 0.0)

    def layer_norm(dtype):
        weight = torch.ones(768, dtype=dtype, requires_grad=True)
        bias = torch.zeros(768, dtype=dtype, requires_grad=True)
        return lambda x: F.layer_norm(x, (768,), weight, bias)

    def batch_norm():
        weight, bias = torch.ones(64, requires_grad=True), torch.zeros(64, requires_grad=True)
        mean, var = torch.zeros(64), torch.ones(64)
        return lambda x: F.batch_norm(x, mean, var, weight, bias, training=True)

    def of(function, *operands):
        return lambda x: function(x, *operands)

    def where_other():
        condition, other = torch.rand(*matrix) < 0.5, leaf(*matrix)
        return lambda x: torch.where(condition, x, other)

    with_operands("where", where)
    with_operands("where_other", where_other)
    for name in ("maximum", "minimum", "fmax", "atan2", "hypot", "remainder", "fmod"):
        with_operands(name, lambda f=getattr(torch, name): of(f, leaf(*matrix)))
    with_operands("add_row", lambda: of(torch.add, torch.randn(768)))
    with_operands("mul_column", lambda: of(torch.mul, torch.randn(8192, 1)))
    with_operands("layer_norm", lambda: layer_norm(torch.float32))
    with_operands("softmax_50000", lambda: of(torch.softmax, -1), (128, 50000))
    with_operands("cross_entropy", lambda: of(F.cross_entropy, indices(768, 8192)))
    losses = {
        "mse_loss": F.mse_loss,
        "l1_loss": F.l1_loss,
        "smooth_l1_loss": F.smooth_l1_loss,
        "bce_with_logits": F.binary_cross_entropy_with_logits,
        "kl_div": F.kl_div,
    }
    for name, function in losses.items():
        with_operands(name, lambda f=function: of(f, torch.rand(*matrix)))
    with_operands(
        "cross_entropy_50000", lambda: of(F.cross_entropy, indices(50000, 128)), (128, 50000)
    )
    with_operands(
        "scatter_add",
        lambda: lambda x, base=torch.zeros(*matrix), at=indices(768, *matrix): torch.scatter_add(
            base, 1, at, x
        ),
    )
    with_operands(
        "index_add",
        lambda: lambda x, base=torch.zeros(*matrix), at=indices(8192, 8192): torch.index_add(
            base, 0, at, x
        ),
    )
    with_operands("batch_norm", batch_norm, images)
    with_operands("index_select_rows", lambda: of(torch.index_select, 0, indices(8192, 8192)))
    with_operands("index_select_columns", lambda: of(torch.index_select, 1, indices(768, 768)))
    with_operands("gather", lambda: of(torch.gather, 1, indices(768, *matrix)))
    with_operands(
        "embedding", lambda: lambda x, at=indices(8192, 16, 512): F.embedding(at, x)
    )
    with_operands(
        "expanded_column",
        lambda: lambda x: x.expand(*matrix).contiguous().clone(),
        (8192, 1),
        backward=False,
    )
    with_operands(
        "depthwise_conv2d",
        lambda: lambda x, w=leaf(64, 1, 3, 3): F.conv2d(x, w, padding=1, groups=64),
        images,
    )
    with_operands(
        "grid_sample",
        lambda: lambda x, grid=torch.rand(16, 56, 56, 2, requires_grad=True): F.grid_sample(
            x, grid, align_corners=False
        ),
        images,
    )
    with_operands(
        "conv3d", lambda: lambda x, w=leaf(32, 32, 3, 3, 3): F.conv3d(x, w, padding=1), deep
    )
    heads = (1, 8, 2048, 64)
    with_operands(
        "attention_2k",
        lambda: lambda x, k=leaf(*heads), v=leaf(*heads): F.scaled_dot_product_attention(
            x, k, v, is_causal=True
        ),
        heads,
    )
    rows["layer_norm_bf16"] = lambda: (
        torch.randn(*matrix).bfloat16().requires_grad_(),
        layer_norm(torch.bfloat16),
        True,
    )
    rows["logical_not"] = lambda: (torch.rand(*matrix) < 0.5, torch.logical_not, False)
    return rows


def serve_torch():
    """Does the work of operations_benchmark, in PyTorch."""
    import torch

    rows, current = torch_rows(), None
    for line in sys.stdin:
        name, threads, count = line.split()
        torch.set_num_threads(int(threads))
        if name != current:
            leaf, function, backward = rows[name]()
            current = name
            gradient = torch.ones_like(function(leaf)) if backward else None
        seconds = []
        for _ in range(int(count)):
            start = time.perf_counter()
            result = function(leaf)
            if backward:
                result.backward(gradient)
            del result
            seconds.append(time.perf_counter() - start)
            leaf.grad = None
        print(json.dumps({"seconds": seconds}), flush=True)


def quantile(seconds, part):
    """The median for part = 0.5; the smaller parts suit a machine with other work."""
    return sorted(seconds)[min(len(seconds) - 1, int(part * len(seconds)))]


def times(contenders, row, threads, options):
    for contender in contenders:
        contender.ask(f"{row} {threads} 2")
    seconds = [[] for _ in contenders]
    for turn in range(options.rounds):
        order = range(len(contenders)) if turn % 2 else reversed(range(len(contenders)))
        for i in order:
            seconds[i] += contenders[i].ask(f"{row} {threads} 2")["seconds"]
    return [quantile(all, options.quantile) for all in seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="operations_benchmark")
    parser.add_argument("--rows", help="names of rows; all by default")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quantile", type=float, default=0.5, help="of a row's times; the median")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_torch()
        return
    if not options.program:
        parser.error("where is operations_benchmark?")
    # The threads of one process would spin while the other computes.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    rows = options.rows.split(",") if options.rows else list(torch_rows())
    contenders = [Contender([options.program]), Contender([sys.executable, __file__, "--serve"])]
    for threads in options.threads.split(","):
        ratios = []
        print(f"| {threads} threads | horovodpp ms | PyTorch ms | ratio |\n|---|---:|---:|---:|")
        for row in rows:
            ours, theirs = times(contenders, row, threads, options)
            ratios.append(ours / theirs)
            print(f"| {row} | {ours * 1e3:.2f} | {theirs * 1e3:.2f} | {ratios[-1]:.2f} |", flush=True)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"| geometric mean of {len(ratios)} | | | {mean:.2f} |\n", flush=True)
    for contender in contenders:
        contender.finish()


if __name__ == "__main__":
    main()
