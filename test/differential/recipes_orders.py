# SPDX-License-Identifier: Apache-2.0
"""Orders, searches, counts, draws, and functions of one tensor with parameters."""

import math

from recipes import recipe


def size_of(x, dim):
    return x.sizes[dim] if x.sizes else 1


@recipe("sort", "argsort", weight=0.7)
def sort(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    results = ((x.sizes, x.dtype), (x.sizes, "int64"))
    b.emit(name, (x,), *results[name == "argsort":], dim=b.dim(x), descending=b.chance(0.5))


@recipe("topk", weight=0.7)
def topk(b, name):
    x = b.floating(low=1)
    dim = b.dim(x)
    k = b.rng.randint(0, size_of(x, dim))
    sizes = list(x.sizes)
    sizes[dim] = k
    b.emit(name, (x,), (sizes, x.dtype), (sizes, "int64"), k=k, dim=dim, largest=b.chance(0.5))


@recipe("kthvalue", weight=0.5)
def kthvalue(b, name):
    x = b.floating()
    dim, keepdim = b.dim(x), b.chance(0.5)
    sizes = list(x.sizes)
    if sizes:
        sizes[dim:dim + 1 or None] = [1] if keepdim else []
    b.emit(name, (x,), (sizes, x.dtype), (sizes, "int64"), dim=dim, keepdim=keepdim,
           k=b.rng.randint(1, max(size_of(x, dim), 1)))


@recipe("searchsorted", "bucketize", weight=0.4)
def search(b, name):
    x = b.floating()
    sizes = (b.size(),)
    if name == "searchsorted" and x.sizes and b.chance(0.4):
        sizes = (*x.sizes[:-1], b.size())
    rows = b.emit("sort", (b.like(sizes, x.dtype),), (sizes, x.dtype), (sizes, "int64"), dim=-1,
                  descending=False)[0]
    of = (rows, x) if name == "searchsorted" else (x, rows)
    b.emit(name, of, (x.sizes, "int64"), right=b.chance(0.5))


@recipe("unique", weight=0.4)
def unique(b, name):
    x = b.any()
    b.emit(name, (x,), ((0,), x.dtype), (x.sizes, "int64"), ((0,), "int64"))
    forget_sizes(b, x.sizes)


def forget_sizes(b, sizes):
    """The number of distinct elements is unknown."""
    b.known[-3:] = [k for k in b.known[-3:] if k.sizes == tuple(sizes) and k.sizes != (0,)]


@recipe("bincount", weight=0.4)
def bincount(b, name):
    count = b.size()
    x = b.indices((count,), 6)
    weights = b.like((count,), b.rng.choice(("float32", "float64")), False)
    weights = weights if b.chance(0.5) and not weights.requires_grad else None
    b.emit(name, (x, weights), ((0,), "int64"), minlength=b.rng.randint(0, 8))
    b.known.pop()  # The largest element is unknown.


@recipe("histc", weight=0.3)
def histc(b, name):
    x = b.leaf(b.sizes(), b.rng.choice(("float32", "float64")))
    bins = b.rng.randint(1, 5)
    low = b.rng.randint(-8, 4) / 4
    b.emit(name, (x,), ((bins,), x.dtype), bins=bins, low=low, high=low + b.rng.randint(1, 8) / 2)


@recipe("multinomial", weight=0.3)
def multinomial(b, name):
    """Of one positive weight in each row, so that the draw is certain."""
    rows, columns = b.rng.randint(1, 3), b.rng.randint(1, 4)
    values = [0.0] * (rows * columns)
    for row in range(rows):
        values[row * columns + b.rng.randrange(columns)] = b.rng.randint(1, 9) / 4
    x = b.leaf((rows, columns), b.rng.choice(("float32", "float64")), values, False)
    replacement = b.chance(0.5)
    samples = b.rng.randint(1, 4) if replacement else 1
    b.emit(name, (x,), ((rows, samples), "int64"), samples=samples, replacement=replacement)


@recipe("bernoulli", weight=0.3)
def bernoulli(b, name):
    """Of probabilities 0 and 1."""
    sizes = b.sizes()
    ones = b.leaf(sizes, "bool")
    x = b.emit("to", (ones,), (sizes, "float32"), dtype="float32")[0]
    b.emit(name, (x,), (sizes, "float32"))


# --- Functions ---
@recipe("log1p", "expm1", "log2", "log10", "exp2", "reciprocal", "square", "tan", "asin", "acos",
        "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "sinc", "erfc", "erfinv", "trunc",
        "frac", "selu", "log_sigmoid", "mish", "softsign", "relu6",
        "hardsigmoid", "hardswish", weight=0.2)
def function(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype))


@recipe("isfinite", weight=0.2)
def isfinite(b, name):
    x = b.any()
    b.emit(name, (x,), (x.sizes, "bool"))


@recipe("elu", "celu", "hardshrink", "softshrink", weight=0.2)
def with_number(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.randint(1, 8) / 4)


@recipe("logit", weight=0.2)
def logit(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), eps=b.rng.randint(1, 7) / 16)


@recipe("lgamma", "digamma", "polygamma", weight=0.2)
def gamma(b, name):
    """Of positive numbers: PyTorch's derivatives are not infinite at the poles."""
    sizes = b.sizes()
    x = b.leaf(sizes, b.some_dtype(),
               [b.rng.randint(1, 127) / 32 for _ in range(math.prod(sizes))])
    order = {"n": b.rng.randint(0, 3)} if name == "polygamma" else {}
    b.emit(name, (x,), (x.sizes, x.dtype), **order)


@recipe("nan_to_num", weight=0.2)
def nan_to_num(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), number=b.rng.randint(-4, 4) / 4)


@recipe("isclose", weight=0.2)
def isclose(b, name):
    x = b.floating()
    b.emit(name, (x, b.like(x.sizes, x.dtype)), (x.sizes, "bool"), equal_nan=b.chance(0.5))


@recipe("allclose", weight=0.2)
def allclose(b, name):
    x = b.floating()
    y = x if b.chance(0.4) else b.like(x.sizes, x.dtype)
    b.emit(name, (x, y), ((), "bool"), atol=b.rng.randint(0, 64) / 4)


@recipe("softplus", weight=0.2)
def softplus(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), beta=b.rng.randint(1, 8) / 4,
           threshold=b.rng.randint(1, 20) / 2)


@recipe("hardtanh", weight=0.2)
def hardtanh(b, name):
    x = b.floating()
    low = b.rng.randint(-8, 4) / 4
    b.emit(name, (x,), (x.sizes, x.dtype), low=low, high=low + b.rng.randint(1, 8) / 4)


@recipe("threshold", weight=0.2)
def threshold(b, name):
    x = b.floating()
    b.emit(name, (x,), (x.sizes, x.dtype), bound=b.rng.randint(-8, 8) / 4,
           number=b.rng.randint(-8, 8) / 4)


@recipe("glu", weight=0.2)
def glu(b, name):
    dim = -1
    x = b.floating(low=1, fits=lambda k: k.sizes[-1] % 2 == 0)
    b.emit(name, (x,), ((*x.sizes[:-1], x.sizes[-1] // 2), x.dtype), dim=dim)


@recipe("rrelu", weight=0.2)
def rrelu(b, name):
    """In training with one slope, since the generators differ."""
    x = b.floating()
    lower, training = b.rng.randint(0, 8) / 8, b.chance(0.5)
    upper = lower if training else lower + b.rng.randint(0, 8) / 8
    b.emit(name, (x,), (x.sizes, x.dtype), lower=lower, upper=upper, training=training)
