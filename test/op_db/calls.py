# SPDX-License-Identifier: Apache-2.0
"""Calls of our operations, and the programs that run them for a sample.

A call is a statement of the interpreter of test/differential whose operands are PyTorch's
tensors, None, or calls.
"""

import dataclasses
import math

import torch

DTYPES = {"uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32,
          "int64": torch.int64, "float16": torch.float16, "bfloat16": torch.bfloat16,
          "float32": torch.float32, "float64": torch.float64, "bool": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Without(Exception):
    """Our operation has no such option; its text names that."""


@dataclasses.dataclass
class Call:
    do: str
    of: tuple
    fields: dict


def call(do, *of, **fields):
    return Call(do, of, {name: plain(value) for name, value in fields.items()})


def need(condition, option):
    """Raises Without(option) unless `condition` holds."""
    if not condition:
        raise Without(option)


def number(value):
    need(isinstance(value, (bool, int, float)), "a number as tensor, or complex")
    return int(value) if isinstance(value, bool) else value


def numbers(values):
    """A list of whole numbers, from one or several."""
    values = [values] if isinstance(values, int) else list(values)
    need(all(isinstance(value, int) for value in values), "sizes as tensors")
    return values


def plain(value):
    if isinstance(value, torch.dtype):
        need(value in NAMES, f"dtype {value}")
        return NAMES[value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple, torch.Size)):
        return [plain(item) for item in value]
    need(not isinstance(value, torch.Tensor), "a number as tensor")
    return value


class Program:
    """The statements that make a call's tensors, run it, and take its gradients."""

    def __init__(self):
        self.statements = []
        self.names = {}  # By the id of PyTorch's tensors, which must live as long.
        self.made = 0

    def name(self):
        self.made += 1
        return f"t{self.made}"

    def add(self, do, of, names, **fields):
        self.statements.append({"do": do, "of": of, "as": names, **fields})
        return len(self.statements) - 1

    def leaf(self, tensor):
        """The name of our tensor with the values and the strides of PyTorch's."""
        if id(tensor) in self.names:
            return self.names[id(tensor)]
        need(tensor.dtype in NAMES, f"dtype {tensor.dtype}")
        need(tensor.layout == torch.strided, f"layout {tensor.layout}")
        flat = tensor.detach()
        whole = flat.is_contiguous()
        if not whole:
            length = 1 + sum((n - 1) * s for n, s in zip(flat.shape, flat.stride()))
            flat = flat.as_strided((length,), (1,))
        name = self.name()
        self.statements.append({
            "do": "leaf", "as": [name], "dtype": NAMES[tensor.dtype], "sizes": list(flat.shape),
            "requires_grad": tensor.requires_grad, "values": plain(flat.flatten().double().tolist())})
        if not whole:
            base, name = name, self.name()
            self.add("as_strided", [base], [name], sizes=list(tensor.shape),
                     strides=list(tensor.stride()), offset=0)
        self.names[id(tensor)] = name
        return name

    def operand(self, value):
        if value is None:
            return None
        if isinstance(value, Call):
            return self.run(value, 1)[1][0]
        need(isinstance(value, torch.Tensor), "a number in place of a tensor")
        return self.leaf(value)

    def run(self, made, results):
        """The place of the call's statement, and the names of its results."""
        of = [self.operand(value) for value in made.of]
        names = [self.name() for _ in range(results)]
        return self.add(made.do, of, names, **made.fields), names

    def gradients(self, names, given, inputs):
        """The place of the statement that differentiates results by `inputs`, and its names."""
        results = [self.name() for _ in inputs]
        at = self.add("grad", names, results, gradients=[self.leaf(g) for g in given],
                      inputs=[self.leaf(x) for x in inputs], retain_graph=True,
                      create_graph=True, allow_unused=True, materialize_grads=True)
        return at, results

    def second_gradients(self, names, given, inputs):
        results = [self.name() for _ in inputs]
        at = self.add("second_gradients", names, results,
                      gradients=[self.leaf(g) for g in given],
                      inputs=[self.leaf(x) for x in inputs])
        return at, results


def tensor_of(description):
    """PyTorch's tensor with the values that the interpreter describes."""
    dtype, sizes, values = DTYPES[description[0]], description[1], description[5]
    if not values:
        return torch.empty(sizes, dtype=dtype)
    return torch.frombuffer(bytearray.fromhex(values), dtype=dtype).reshape(sizes)
