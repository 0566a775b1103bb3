# SPDX-License-Identifier: Apache-2.0
"""Compares the outcomes of a program from both interpreters."""

import dataclasses

import numpy as np

# A difference below this fraction of the largest number is rounding. 16-bit types have a large
# unit, and PyTorch rounds to them more often within an operation.
TOLERANCES = {"float32": 1e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2}
NUMPY = {"float32": np.float32, "float64": np.float64, "float16": np.float16,
         "int64": np.int64, "bool": np.uint8, "int32": np.int32, "uint8": np.uint8}
FIELDS = ("dtype", "sizes", "requires_grad", "is_leaf", "version", "values", "gradient")


@dataclasses.dataclass
class Difference:
    at: int  # The statement's index; the count of statements for the end.
    statement: dict
    kind: str  # "refused", "accepted", "crash", or a field that differs.
    name: str  # Of the tensor.
    ours: str
    theirs: str
    sizes: dict = dataclasses.field(default_factory=dict)  # Of the tensors so far,
    dtypes: dict = dataclasses.field(default_factory=dict)  # and their dtypes.
    refused: list = dataclasses.field(default_factory=list)  # Earlier statements that both refused.

    @property
    def operation(self):
        return self.statement.get("do", "end")

    def text(self):
        where = f"statement {self.at} ({self.operation})" if self.statement else "the end"
        return (f"{self.kind} of {self.name or 'the statement'} at {where}\n"
                f"  horovodpp: {self.ours[:400]}\n  PyTorch:   {self.theirs[:400]}")


def difference(program, ours, theirs):
    """The first difference, or None."""
    if "crash" in ours:
        return Difference(-1, {}, "crash", "", ours["crash"], "")
    statements = program["statements"] + [{}]
    first = {}  # The version of each tensor when it was first seen.
    so_far = {"sizes": {}, "dtypes": {}, "refused": []}
    fields = len(FIELDS)
    for at, (statement, a, b) in enumerate(zip(statements, ours, theirs)):
        if "error" in a and "error" in b or "skipped" in a and "skipped" in b:
            # PyTorch's refused backward has already added to some gradients.
            if statement["do"] in ("backward", "grad"):
                fields = FIELDS.index("gradient")
            if "error" in a:
                so_far["refused"].append(at)
            continue
        if "error" in a or "skipped" in a:
            return Difference(at, statement, "refused", "", str(a), "accepted", **so_far)
        for name, described in a["tensors"].items():
            if described and len(described) > 1:
                so_far["dtypes"][name], so_far["sizes"][name] = described[:2]
        if "error" in b or "skipped" in b:
            return Difference(at, statement, "accepted", "", "accepted", str(b), **so_far)
        for name in sorted(set(a["tensors"]) | set(b["tensors"])):
            x, y = (o["tensors"].get(name) and o["tensors"][name][:fields] for o in (a, b))
            found = compare(since(first, name, "ours", x), since(first, name, "theirs", y))
            if found:
                field, first, second = found
                return Difference(at, statement, field, name, first, second, **so_far)
    return None


def since(first, name, whose, description):
    """Counts the version from the tensor's first one, because the operation that made the
    tensor may have written it."""
    if description is None or len(description) < 6 or description[4] is None:
        return description
    start = first.setdefault((name, whose), description[4])
    return description[:4] + [description[4] - start] + description[5:]


def compare(a, b, prefix=""):
    """(field, ours, theirs) of the first field that differs, or None."""
    if a is None or b is None:
        if a is b:
            return None
        return (prefix + "presence", str(a and a[:2]), str(b and b[:2]))
    for field, x, y in zip(FIELDS, a, b):
        if x == y or field == "version" and (None in (x, y) or prefix):
            continue
        if field == "gradient":
            found = compare(x, y, "gradient's ")
            if found:
                return found
        elif field != "values":
            return (prefix + field, str(x), str(y))
        elif not close(a[0], x, y):
            return (prefix + "values", str(numbers(a[0], x).tolist()),
                    str(numbers(a[0], y).tolist()))
    return None


def numbers(dtype, hexadecimal):
    data = bytes.fromhex(hexadecimal)
    if dtype == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, NUMPY[dtype])


def close(dtype, ours, theirs):
    if dtype not in TOLERANCES:
        return False
    x, y = (numbers(dtype, v).astype(np.float64) for v in (ours, theirs))
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return False
    infinite = np.isinf(x) | np.isinf(y)
    if not np.array_equal(x[infinite], y[infinite]):
        return False
    finite = ~infinite & ~np.isnan(x)
    if not finite.any():
        return True
    x, y = x[finite], y[finite]
    scale = max(np.abs(y).max(), 1.0)
    return bool(np.abs(x - y).max() <= TOLERANCES[dtype] * scale)


def distance(a, b):
    """The distance between the values of two descriptions, in any dtypes; infinite if
    undefined."""
    if not a or not b or len(a) < 6 or len(b) < 6 or a[1] != b[1]:
        return np.inf
    x, y = (numbers(d[0], d[5]).astype(np.float64) for d in (a, b))
    with np.errstate(invalid="ignore"):
        apart = np.where((x == y) | np.isnan(x) & np.isnan(y), 0.0, np.abs(x - y))
    return np.inf if np.isnan(apart).any() else apart.max(initial=0.0)
