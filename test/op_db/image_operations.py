# SPDX-License-Identifier: Apache-2.0
"""Lines as those of operations.py, for ops/images."""

from calls import call, need, numbers
from operations import OPERATIONS


def sizes(value, dims):
    """A number for each dimension, from one or several."""
    values = numbers(value)
    return values * dims if len(values) == 1 else values


def convolution(dims):
    def line(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        named = isinstance(padding, str)
        return call(f"conv{dims}d", input, weight, bias, stride=sizes(stride, dims),
                    padding=padding if named else sizes(padding, dims), dilation=sizes(dilation, dims), groups=groups)
    return line


def transposed(dims):
    def line(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
             dilation=1):
        return call(f"conv_transpose{dims}d", input, weight, bias, stride=sizes(stride, dims),
                    padding=sizes(padding, dims), output_padding=sizes(output_padding, dims),
                    dilation=sizes(dilation, dims), groups=groups)
    return line


def max_pool(dims):
    def line(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
             return_indices=False):
        end = "_with_indices" if return_indices else ""
        return call(f"max_pool{dims}d{end}", input, kernel=sizes(kernel_size, dims),
                    stride=sizes(stride or 0, dims), padding=sizes(padding, dims),
                    dilation=sizes(dilation, dims), ceil_mode=ceil_mode)
    return line


def avg_pool(dims):
    def line(input, kernel_size, stride=None, padding=0, ceil_mode=False,
             count_include_pad=True, divisor_override=None):
        need(divisor_override != 0, "a divisor of 0")
        return call(f"avg_pool{dims}d", input, kernel=sizes(kernel_size, dims),
                    stride=sizes(stride or 0, dims), padding=sizes(padding, dims),
                    ceil_mode=ceil_mode, count_include_pad=count_include_pad,
                    divisor=divisor_override)
    return line


def fractional(dims):
    def line(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
             _random_samples=None):
        need(_random_samples is not None, "a random result")
        size = None if output_size is None else sizes(output_size, dims)
        ratio = output_ratio
        if isinstance(ratio, float):
            ratio = [ratio] * dims
        end = "_with_indices" if return_indices else ""
        return call(f"fractional_max_pool{dims}d{end}", input, _random_samples,
                    kernel=sizes(kernel_size, dims), size=size, ratio=ratio)
    return line


def adaptive(do, dims):
    def line(input, output_size, return_indices=False):
        size = [output_size] * dims if isinstance(output_size, int) else list(output_size)
        need(None not in size, "None as a size")
        return call(do + ("_with_indices" if return_indices else ""), input, size=size)
    return line


def max_unpool(dims):
    def line(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        given = {} if output_size is None else {"output_size": list(output_size)[-dims:]}
        return call(f"max_unpool{dims}d", input, indices, kernel=sizes(kernel_size, dims),
                    stride=sizes(stride or 0, dims), padding=sizes(padding, dims), **given)
    return line


def interpolated(default):
    def line(input, size=None, scale_factor=None, mode=None, align_corners=None,
             recompute_scale_factor=None, antialias=False):
        need(not recompute_scale_factor, "recompute_scale_factor")
        scale = None
        if scale_factor is not None:
            one = isinstance(scale_factor, (int, float))
            scale = [float(factor) for factor in ([scale_factor] if one else scale_factor)]
        return call("interpolate", input, size=None if size is None else numbers(size),
                    scale=scale, mode=mode or default, align_corners=align_corners,
                    antialias=antialias)
    return line


for dims in (1, 2, 3):
    OPERATIONS[f"nn.functional.conv{dims}d"] = convolution(dims)
    OPERATIONS[f"nn.functional.conv_transpose{dims}d"] = transposed(dims)
    OPERATIONS[f"nn.functional.max_pool{dims}d"] = max_pool(dims)
    OPERATIONS[f"nn.functional.avg_pool{dims}d"] = avg_pool(dims)
    if dims > 1:
        OPERATIONS[f"nn.functional.fractional_max_pool{dims}d"] = fractional(dims)
    for kind in ("avg", "max"):
        OPERATIONS[f"nn.functional.adaptive_{kind}_pool{dims}d"] = adaptive(
            f"adaptive_{kind}_pool{dims}d", dims)
    OPERATIONS[f"nn.functional.max_unpool{dims}d"] = max_unpool(dims)
for mode in ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"):
    OPERATIONS[f"nn.functional.interpolate/{mode}"] = interpolated(mode)
OPERATIONS["nn.functional.upsample_nearest"] = interpolated("nearest")
OPERATIONS["nn.functional.upsample_bilinear"] = (
    lambda input, size=None, scale_factor=None: interpolated("bilinear")(
        input, size, scale_factor, align_corners=True))
OPERATIONS["nn.functional.grid_sample"] = (
    lambda input, grid, mode="bilinear", padding_mode="zeros", align_corners=False: call(
        "grid_sample", input, grid, mode=mode, padding_mode=padding_mode,
        align_corners=bool(align_corners)))
