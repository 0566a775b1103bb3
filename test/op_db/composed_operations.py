# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for ops/composed."""

from calls import call, need, number
from more_operations import alike, one_of, spread
from operations import OPERATIONS, is_tensor, unary

one_of(["trace", "ravel", "deg2rad", "rad2deg", "isposinf", "isneginf"], unary)
one_of(["inner", "kron"], alike)
one_of(["std_mean", "var_mean"], spread)


def tensors_given(do):
    return lambda *tensors: call(do, *(tensors[0] if isinstance(tensors[0], (list, tuple))
                                       else tensors))


one_of(["block_diag", "cartesian_prod"], tensors_given)


def scaled(do):
    return lambda input, a, b, beta=1, alpha=1: call(do, input, a, b, beta=number(beta),
                                                     alpha=number(alpha))


one_of(["addmv", "addr", "addbmm"], scaled)


def bounded(do):
    def line(input, bound):
        need(not is_tensor(bound), "a bound as a tensor: ours is maximum() or minimum()")
        return call(do, input, number=number(bound))
    return line


one_of(["clamp_min", "clamp_max"], bounded)


def equal_parts(do):
    def line(input, sections):
        need(isinstance(sections, int), "indices: ours is tensor_split()")
        return call(do, input, sections=sections)
    return line


one_of(["hsplit", "vsplit", "dsplit"], equal_parts)


def aminmax(input, *, dim=None, keepdim=False):
    need(input.dim() > 0, "a scalar's dimension")
    return call("aminmax", input, dims=[] if dim is None else [dim], keepdim=keepdim)


def trapezoid(y, x=None, *, dim=-1, dx=1):
    need(x is None, "places as a tensor")
    return call("trapezoid", y, dim=dim, number=number(dx))


OPERATIONS.update({
    "aminmax": aminmax,
    "trapezoid": trapezoid,
    "dist": lambda input, other, p=2: call("dist", input, other, number=number(float(p))),
    "nn.functional.normalize": lambda input, p=2.0, dim=1, eps=1e-12: call(
        "normalize", input, number=number(float(p)), dim=dim, eps=eps),
    "diagflat": lambda input, offset=0: call("diagflat", input, offset=offset),
    "select_scatter": lambda input, src, dim, index: call(
        "select_scatter", input, src, dim=dim, index=index),
    "slice_scatter": lambda input, src, dim=0, start=None, end=None, step=1: call(
        "slice_scatter", input, src, dim=dim, start=start or 0,
        end=2**62 if end is None else end, step=step),
    "diagonal_scatter": lambda input, src, offset=0, dim1=0, dim2=1: call(
        "diagonal_scatter", input, src, offset=offset, dim1=dim1, dim2=dim2),
})
