# SPDX-License-Identifier: Apache-2.0
"""Runs a program with PyTorch: the counterpart of the C++ interpreter.

The result has the format of the C++ interpreter's output; see session.h.
"""

import contextlib
import math
import os
import pickle
import warnings

import torch
import torch.fx.experimental.symbolic_shapes  # Otherwise every child imports it, which is slow.
import torch.nn.functional as F

import dialects
import functions
import sources_distances
import sources_elements
import sources_medians
import sources_scatter
import sources_shapes

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


def gelu(x, tanh):
    return F.gelu(x, approximate="tanh" if tanh else "none")


def drop_path(x, p, training):
    if not training or p == 0:
        return x
    kept = torch.ones([n if d == 0 else 1 for d, n in enumerate(x.shape)], dtype=x.dtype)
    return x * F.dropout(kept, p)


def sum_of_squares(x):
    return x.detach().double().square().sum()


def topk(x, k, dim, largest):
    """PyTorch's leaves open which of equal elements it chooses; ours are the first."""
    if not 0 <= k <= (x.shape[dim] if x.dim() else 1):
        raise RuntimeError("topk")
    found = torch.sort(x, dim=dim, descending=largest, stable=True)
    if not x.dim() and not k:
        return tuple(part.new_empty([0]) for part in found)
    whole = not x.dim() or k == x.shape[dim]
    return tuple(part if whole else part.narrow(dim, 0, k).clone() for part in found)


def kthvalue(x, k, dim, keepdim):
    if not 1 <= k <= (x.shape[dim] if x.dim() else 1):
        raise RuntimeError("kthvalue")
    found = torch.sort(x, dim=dim, stable=True)
    if not x.dim():
        return tuple(found)
    return tuple((part.narrow(dim, k - 1, 1) if keepdim else part.select(dim, k - 1)).clone()
                 for part in found)


def median(x, dim, keepdim, ignores_nan=False):
    """PyTorch's leaves open which of equal elements it chooses; ours are in their order."""
    order = torch.sort(x.detach(), dim=dim, stable=True).indices
    if not x.dim():
        return x.clone(), order
    numbers = (x == x).sum(dim, True)
    all_count = numbers == 0 if ignores_nan else numbers < x.shape[dim]
    at = torch.gather(order, dim, torch.where(all_count, numbers, (numbers - 1).clamp(0) // 2))
    found = torch.gather(x, dim, at)
    return (found, at) if keepdim else (found.squeeze(dim).clone(), at.squeeze(dim))


def nanmedian(x, dim, keepdim):
    return median(x, dim, keepdim, True)


def clone_with_strides(x, strides):
    return torch.empty_strided(x.shape, strides, dtype=x.dtype).copy_(x)


def rotary_embedding(x, base, offset, interleaved):
    """As transformers' apply_rotary_pos_emb, with angles in float64."""
    rows, width = x.shape[-2:]
    if width % 2 or not x.is_floating_point():
        raise RuntimeError("rotary_embedding")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    steps = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / max(width, 1))
    angles = torch.arange(offset, offset + rows, dtype=torch.float64)[:, None] * steps
    cos, sin = angles.cos().to(wide.dtype), angles.sin().to(wide.dtype)
    if interleaved:
        a, b = wide[..., ::2], wide[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(x.shape).to(x.dtype)
    a, b = wide[..., :width // 2], wide[..., width // 2:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def gradient(tensors, spacing, dims, edge_order):
    return torch.gradient(tensors[0], spacing=spacing or tensors[1:], dim=dims,
                          edge_order=edge_order)


def lstm(x, h, c, w_ih, w_hh, b_ih, b_hh):
    weights = [w_ih, w_hh] if b_ih is None else [w_ih, w_hh, b_ih, b_hh]
    output, h, c = torch.lstm(x, [h.unsqueeze(0), c.unsqueeze(0)], weights,
                              b_ih is not None, 1, 0.0, False, False, False)
    return output, h.squeeze(0).clone(), c.squeeze(0).clone()  # Results, no views.


def autocast(dtype, enabled):
    return torch.autocast("cpu", dtype=dtype, enabled=enabled)


class Scopes:
    """The scopes that the program has entered and not yet left."""

    def __init__(self):
        self.open = []

    def enter(self, context):
        stack = contextlib.ExitStack()
        stack.enter_context(context)
        self.open.append(stack)

    def leave(self):
        if self.open:
            self.open.pop().close()

    def leave_all(self):
        while self.open:
            self.leave()


def run(program, nudge=False, copying=False):
    """The outcomes of a program. With `nudge`, every rounded number is off by about one more
    rounding error, which shows how errors grow. With `copying`, tensors that a backward needs
    may be written before it."""
    session = _Session(nudge)
    keeping = torch.autograd.graph.allow_mutation_on_saved_tensors
    with keeping() if copying else contextlib.nullcontext():
        try:
            outcomes = [session.run(s) for s in program["statements"]]
        finally:
            session.scopes.leave_all()
        return outcomes + [{"tensors": session.descriptions()}]


def run_apart(programs, **how):
    """The outcomes of each program, or {"crash": …}. PyTorch does crash, so the programs run
    in a child process."""
    answers = []
    while len(answers) < len(programs):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _answer(programs[len(answers):], how, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream, contextlib.suppress(EOFError):
            while len(answers) < len(programs):
                answers.append(pickle.load(stream))
        _, status = os.waitpid(child, 0)
        if len(answers) < len(programs):
            answers.append({"crash": f"status {status}"})
    return answers


def _answer(programs, how, descriptor):
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for program in programs:
                pickle.dump(run(program, **how), stream)
                stream.flush()
    finally:
        os._exit(0)


class _Session:
    def __init__(self, nudge):
        self.scopes = Scopes()
        self.tensors = {}
        self.nudge = nudge
        self.base = {"torch": torch, "F": F, "math": math, "scopes": self.scopes, "gelu": gelu,
                     "drop_path": drop_path, "topk": topk, "kthvalue": kthvalue,
                     "median": median, "nanmedian": nanmedian,
                     "sum_of_squares": sum_of_squares,
                     "clone_with_strides": clone_with_strides, "lstm": lstm,
                     "rotary_embedding": rotary_embedding, "gradient": gradient,
                     "autocast": autocast, "Asking": functions.Asking,
                     "Recomputing": functions.Recomputing}

    def run(self, statement):
        if any(name not in self.tensors for name in dialects.names_of(statement)):
            return {"skipped": True}
        space = {**self.base, **self.tensors}
        try:
            exec(dialects.python_of(statement), space)  # Programs are our own.
        except Exception as error:  # Every exception of PyTorch is a refusal.
            return {"error": f"{type(error).__name__}: {error}"}
        names = statement.get("as") or []
        if self.nudge and statement["do"] not in EXACT:
            for name in names or statement["of"][:statement["do"] in ROUNDS_IN_PLACE]:
                nudge(space[name])
        described = {name: describe(space[name]) for name in names}
        self.tensors.update({n: space[n] for n in names if space[n] is not None})
        if not names and statement["do"].endswith("_"):
            described = {statement["of"][0]: describe(space[statement["of"][0]])}
        if statement["do"] == "backward":
            described = self.descriptions()
        return {"tensors": described}

    def descriptions(self):
        return {name: describe(tensor) for name, tensor in self.tensors.items()}


def describe(tensor):
    if tensor is None:
        return None
    try:
        gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
        return _alone(tensor) + [None if gradient is None else _alone(gradient)]
    except RuntimeError:  # Its history became invalid.
        return ["unusable"]


def _alone(tensor):
    version = None if tensor.is_inference() else tensor._version
    return [str(tensor.dtype)[6:], list(tensor.shape), tensor.requires_grad, tensor.is_leaf,
            version, _bytes(tensor).hex()]


def _bytes(tensor):
    with torch.no_grad():
        rows = tensor.detach().clone(memory_format=torch.contiguous_format)
        return bytes(rows.reshape(-1).view(torch.uint8).numpy()) if rows.numel() else b""


# The results are not rounded, or are views, which must not be nudged twice.
EXACT = {"leaf", "detach", "data", "get_grad", "view", "reshape", "transpose", "t", "permute",
         "expand", "squeeze", "unsqueeze", "as_strided", "narrow", "select", "slice", "split",
         "split_size", "chunk", "unbind", "contiguous", "index", "to", "dropout", "drop_path",
         "channels_last", "neg", "abs", "relu", "clone", "max", "min", "max_dim", "min_dim", "amax", "amin",
         "clone_with_strides", "flip", "roll", "pad", "cat", "stack", "gather", "index_select",
         "embedding", "where", "where_number", "masked_fill", "clamp", "sort",
         "topk", "kthvalue", "trunc", "bernoulli", "histc", "unique", "enter", "leave"}
EXACT |= (sources_shapes.EXACT | sources_scatter.EXACT | sources_elements.EXACT
          | sources_medians.EXACT | sources_distances.EXACT)


ROUNDS_IN_PLACE = {"add_", "sub_", "mul_", "add_number_", "mul_number_", "exp_", "sin_"} | (
    sources_scatter.ROUNDS_IN_PLACE | sources_elements.ROUNDS_IN_PLACE)


def nudge(tensor):
    """Keeps equal numbers equal, so that the position of the largest does not change by chance."""
    if tensor is None or not tensor.is_floating_point() or not tensor.numel():
        return
    with torch.no_grad():
        values = tensor.data
        wide = values.double()
        sign = torch.where((wide * 1e7).frac().abs() * 1000 % 2 < 1, 1.0, -1.0)
        values.copy_(wide * (1 + sign * 2 * torch.finfo(tensor.dtype).eps))
