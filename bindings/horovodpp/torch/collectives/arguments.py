# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of the arguments of collectives on tensors."""
import warnings

import torch

from horovodpp.common.ops import Adasum, Average, Product, Sum

_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def op_of(average, op):
    if op is not None:
        if average is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of "
                             "them.")
        return op
    if average is None:
        return Average
    warnings.warn("Parameter `average` has been replaced with `op` and will be removed in v1.0",
                  DeprecationWarning, stacklevel=3)
    return Average if average else Sum


def check_tensor(tensor):
    """Raises TypeError unless `tensor` is a torch.Tensor."""
    if not isinstance(tensor, torch.Tensor):
        kind = type(tensor)
        raise TypeError(
            f"horovodpp.torch takes tensors of torch, not {kind.__module__}.{kind.__qualname__}: "
            "make one with torch.as_tensor(), or call the function of that name in horovodpp, "
            "which takes numpy's arrays and others")


def detached(tensor):
    """The tensor, detached from autograd. Raises TypeError unless it is a torch.Tensor."""
    check_tensor(tensor)
    return tensor.detach()


def check_reduced(tensor, op):
    """Raises ValueError for an op that does not exist, or is not for the tensor's dtype."""
    if not isinstance(op, int) or not Average <= op <= Product:
        raise ValueError(f"op is {op!r}: use hvd.Average, hvd.Sum, hvd.Adasum, hvd.Min, hvd.Max "
                         "or hvd.Product")
    if op == Adasum and tensor.dtype not in _FLOATING:
        raise ValueError(f"Tensor type {tensor.type()} is not supported.")


def list_of(tensors):
    tensors = list(tensors)
    if not tensors:
        raise ValueError("the group is empty: give at least one tensor")
    for tensor in tensors:
        check_tensor(tensor)
    return tensors


def _write_nothing(tensor):
    """Replaces increment_version() for torch 1.13, which lacks it."""
    with torch.no_grad():
        tensor.detach().reshape(-1)[:0].zero_()


def _version_counter():
    """A function that counts a write to each tensor of a list: torch's own if it fits."""
    if not hasattr(torch.autograd.graph, "increment_version"):
        return lambda tensors: [_write_nothing(tensor) for tensor in tensors]
    count = getattr(torch._C, "_increment_version", None)
    probe = torch.zeros(1)
    before = probe._version
    try:
        count([probe])
    except TypeError:  # Another version's.
        fits = False
    else:
        fits = probe._version == before + 1
    if fits:
        return count  # Without the checks of increment_version().
    return lambda tensors: [torch.autograd.graph.increment_version(tensor) for tensor in tensors]


_increment_versions = _version_counter()


def written(tensor):
    """Marks a tensor as changed, after the library wrote to its memory."""
    _increment_versions((tensor,))
    return tensor


def written_in_place(_, tensor):
    """The result of an operation that has none but the tensor it wrote."""
    return written(tensor)


def all_written_in_place(_, tensors):
    """As written_in_place(), of a list of tensors: a tuple."""
    _increment_versions(tensors)
    return tuple(tensors)


def is_recorded(*tensors):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
