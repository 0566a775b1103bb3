# SPDX-License-Identifier: Apache-2.0
"""A program under construction: its statements, and the known facts about its tensors.

Recipes (recipes_*.py) get operands by `any`, `floating` and `like`, which take a
tensor of the program or make a new one. They add statements by `emit`, with the sizes
and dtype of the results.
"""

import collections
import math

Known = collections.namedtuple("Known", "name sizes dtype requires_grad")

FLOATING = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int32", "int64")
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")
LARGEST = 150  # Elements.
RECENT = 0.7  # The probability that only recent tensors are searched.


class Builder:
    def __init__(self, rng, dtype, mixing, promoting, spoiling):
        self.rng = rng
        self.dtype = dtype  # Of most of its tensors.
        self.mixing = mixing  # The probability of another dtype.
        self.promoting = promoting  # The probability of operands of two dtypes.
        self.spoiling = spoiling  # The probability of a wrong statement.
        self.statements = []
        self.known = []
        self.scopes = []
        self.names = 0

    # --- Chance ---
    def chance(self, probability):
        return self.rng.random() < probability

    def size(self):
        return self.rng.choice((1, 2, 2, 3, 3, 4, 5)) if not self.chance(0.04) else 0

    def sizes(self, low=0, high=4):
        sizes = [self.size() for _ in range(self.rng.randint(low, high))]
        while math.prod(sizes) > LARGEST:
            sizes[self.rng.randrange(len(sizes))] = self.rng.randint(1, 2)
        return tuple(sizes)

    def dim(self, x, extra=0):
        """A dimension of x, counted from either end."""
        rank = len(x.sizes) + extra
        return self.rng.randrange(-rank, rank) if rank else self.rng.choice((0, -1))

    def some_dtype(self):
        if self.chance(self.mixing):
            return self.rng.choice(FLOATING)
        return self.dtype if self.dtype in FLOATING else "float32"

    def number(self, dtype):
        if dtype not in FLOATING:
            return self.rng.randint(0 if dtype == "uint8" else -3, 3)
        if self.chance(0.02):
            return self.rng.choice(("nan", "inf", "-inf", 0.0, -0.0))
        return self.rng.randint(-12, 12) / 4

    # --- Tensors ---
    def fresh(self):
        self.names += 1
        return f"t{self.names}"

    def leaf(self, sizes, dtype, values=None, requires_grad=None):
        floating = dtype in FLOATING
        if requires_grad is None:
            requires_grad = floating and self.chance(0.65)
        if values is None:
            values = self.values(math.prod(sizes), dtype)
        name = self.fresh()
        self.statements.append({"do": "leaf", "as": [name], "dtype": dtype, "sizes": list(sizes),
                                "requires_grad": requires_grad, "values": values})
        return self.remember(Known(name, tuple(sizes), dtype, requires_grad))

    def values(self, count, dtype):
        rng = self.rng
        if dtype == "bool":
            return [rng.randint(0, 1) for _ in range(count)]
        if dtype in INTEGERS:
            return [rng.randint(0 if dtype == "uint8" else -4, 6) for _ in range(count)]
        kind = rng.random()
        if kind < 0.25:  # With equal numbers.
            return [rng.randint(-8, 8) / 4 for _ in range(count)]
        if kind < 0.45:
            return [rng.randint(1, 127) / 32 for _ in range(count)]
        values = [rng.randint(-255, 255) / 64 for _ in range(count)]
        if kind > 0.95:
            for _ in range(min(count, 2)):
                values[rng.randrange(count)] = rng.choice(("nan", "inf", "-inf", 0.0, -0.0))
        return values

    def indices(self, sizes, below, negative=False):
        """Integers in [0, below) or, if negative indices are valid, in [-below, below)."""
        low = -below if negative else 0
        values = [self.rng.randrange(low, below) if below else 0 for _ in range(math.prod(sizes))]
        return self.leaf(sizes, "int32" if self.chance(0.2) else "int64", values)

    def remember(self, known):
        self.known.append(known)
        return known

    def find(self, fits):
        found = [k for k in self.known if fits(k)]
        if not found:
            return None
        return self.rng.choice(found[-4:] if self.chance(RECENT) else found)

    def any(self, low=0, high=4):
        """A tensor of any dtype."""
        fits = lambda k: low <= len(k.sizes) <= high
        found = self.find(fits) if self.chance(0.8) else None
        if found:
            return found
        dtype = (self.rng.choice((*INTEGERS, "int64", "bool")) if self.chance(0.15)
                 else self.some_dtype())
        return self.leaf(self.sizes(low, high), dtype)

    def floating(self, low=0, high=4, fits=lambda k: True):
        dtype = self.some_dtype()
        found = self.chance(0.85) and self.find(
            lambda k: k.dtype == dtype and low <= len(k.sizes) <= high and fits(k))
        if found:
            return found
        for _ in range(20):
            made = Known(None, self.sizes(low, high), dtype, None)
            if fits(made):
                return self.leaf(made.sizes, dtype)
        return self.leaf([2] * low, dtype)

    def like(self, sizes, dtype, requires_grad=None):
        found = self.chance(0.6) and self.find(
            lambda k: k.sizes == tuple(sizes) and k.dtype == dtype)
        return found or self.leaf(sizes, dtype, requires_grad=requires_grad)

    def partner_dtype(self, x):
        """The dtype of an operand beside x, where operands are promoted."""
        return self.rng.choice(DTYPES) if self.chance(self.promoting) else x.dtype

    def broadcasting(self, x, dtype):
        """A tensor that broadcasts with x, and the sizes of the result."""
        if self.chance(0.4):
            other = self.find(lambda k: k.dtype == dtype and together(k.sizes, x.sizes) is not None
                              and math.prod(together(k.sizes, x.sizes)) < 400)
            if other:
                return other, together(other.sizes, x.sizes)
        sizes = [n if self.chance(0.75) else 1 for n in x.sizes]
        other = self.like(sizes[self.rng.randint(0, len(sizes)) if self.chance(0.3) else 0:],
                          dtype)
        return other, together(other.sizes, x.sizes)

    # --- Statements ---
    def emit(self, do, of, *results, **attributes):
        """Adds a statement on operands (None: an undefined one) whose results have
        these (sizes, dtype), and returns the known facts about the results."""
        statement = {"do": do, "of": [k and k.name for k in of], **attributes}
        recorded = any(k and k.requires_grad for k in of) and "no_grad" not in self.scopes
        made = [Known(self.fresh(), tuple(sizes), dtype, recorded and dtype in FLOATING)
                for sizes, dtype in results]
        if made:
            statement["as"] = [k.name for k in made]
        self.statements.append(statement)
        if self.chance(self.spoiling) and self.spoil(statement):
            return made
        self.known += made
        return made

    def spoil(self, statement):
        """Makes a statement that usually must be refused."""
        numbers = [key for key, value in statement.items()
                   if isinstance(value, int) and not isinstance(value, bool)]
        lists = [key for key, value in statement.items() if key not in ("as", "of", "values")
                 and isinstance(value, list) and value
                 and all(type(item) is int for item in value)]
        operands = [i for i, name in enumerate(statement["of"]) if name]
        kind = self.rng.choice(("operand", "number", "list"))
        if kind == "number" and numbers:
            statement[self.rng.choice(numbers)] += self.rng.choice((-7, -2, -1, 1, 2, 7))
        elif kind == "list" and lists:
            key = self.rng.choice(lists)
            changed = list(statement[key])
            changed[self.rng.randrange(len(changed))] += self.rng.choice((-2, -1, 1, 2))
            statement[key] = changed
        elif kind == "operand" and operands and self.known:
            statement["of"][self.rng.choice(operands)] = self.rng.choice(self.known).name
        else:
            return False
        return True


def promoted(a, b):
    """The dtype that holds both."""
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    return max(a, b, key=DTYPES.index)


def category(dtype):
    return 0 if dtype == "bool" else 1 if dtype in INTEGERS else 2


def result_dtype(*operands):
    """The dtype of the result: tensors without dimensions raise only the category."""
    dimensioned = zero_dim = None
    for k in operands:
        if k.sizes:
            dimensioned = promoted(dimensioned, k.dtype) if dimensioned else k.dtype
        else:
            zero_dim = promoted(zero_dim, k.dtype) if zero_dim else k.dtype
    if not dimensioned or not zero_dim:
        return dimensioned or zero_dim
    if category(zero_dim) <= category(dimensioned):
        return dimensioned
    return promoted(dimensioned, zero_dim)


def floating_result(dtype):
    return dtype if dtype in FLOATING else "float32"


def together(a, b):
    """The sizes that two shapes broadcast to, or None."""
    result = []
    for i in range(1, max(len(a), len(b)) + 1):
        x = a[-i] if i <= len(a) else 1
        y = b[-i] if i <= len(b) else 1
        if x != y and x != 1 and y != 1:
            return None
        result.insert(0, y if x == 1 else x)
    return tuple(result)
