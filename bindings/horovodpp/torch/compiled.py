# SPDX-License-Identifier: Apache-2.0
"""The allreduce as a custom operator of torch, for functions that torch.compile() makes one graph.

Compiled code calls the operator as eager code calls allreduce(): without a name, calls of all ranks
match in their order. All ranks compile the same function.
"""
from __future__ import annotations

import torch

from horovodpp.common import process_sets
from horovodpp.common.handles import wait_for

_compiler = getattr(torch, "compiler", None)
# Whether torch.compile() traces the caller, and can put the operator into its graph.
is_compiling = getattr(_compiler, "is_compiling", None) if hasattr(
    torch.library, "custom_op") else None


def _allreduce(tensor: torch.Tensor, name: str, op: int, prescale_factor: float,
               postscale_factor: float, process_set: int) -> torch.Tensor:
    from horovodpp.torch.collectives.allreduce import allreduce_async

    return wait_for(allreduce_async, tensor.contiguous(), None, name or None, op, prescale_factor,
                    postscale_factor, process_sets.numbered(process_set))


def _fake(tensor, name, op, prescale_factor, postscale_factor, process_set):
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _keep(ctx, inputs, output):
    ctx.arguments = inputs[2:]


def _backward(ctx, grad):
    return (operator(grad.contiguous(), "", *ctx.arguments), None, None, None, None, None)


if is_compiling is not None:
    # The annotations of the function, which are text here, are the operator's schema.
    operator = torch.library.custom_op(
        "horovodpp::allreduce", _allreduce, mutates_args=(),
        schema="(Tensor tensor, str name, int op, float prescale_factor, float postscale_factor, "
               "int process_set) -> Tensor")
    operator.register_fake(_fake)
    operator.register_autograd(_backward, setup_context=_keep)
