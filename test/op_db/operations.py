# SPDX-License-Identifier: Apache-2.0
"""Our operations by PyTorch's names: one line for an entry of op_db.

A line maps the arguments of PyTorch's function, under PyTorch's names, to a call of a statement of
the interpreter (test/differential/*.cc). need() names an option that ours lacks; samples with an
argument that the line does not list are skipped, too. A key "name/variant" is for one variant.
"""

from calls import Without, call, need, number, numbers  # noqa: F401
import torch


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def unary(do):
    return lambda input: call(do, input)


def binary(do):
    return lambda input, other: (call(do, input, other) if is_tensor(other) else
                                 call(f"{do}_number", input, number=number(other)))


def reduced(do):
    def line(input, dim=None, keepdim=False, *, dtype=None):
        need(dtype is None, "dtype")
        if dim is None:
            need(not keepdim, "keepdim of all dimensions")
            return call(do, input)
        return call(f"{do}_dims", input, dims=numbers(dim), keepdim=keepdim)
    return line


def softmax(do):
    def line(input, dim, dtype=None):
        return call(do, input if dtype is None else call("to", input, dtype=dtype), dim=dim)
    return line


def padded(mode):
    def line(input, pad, mode_name="constant", value=None):
        fields = {"number": number(value or 0.0)} if mode == "pad" else {}
        return call(mode, input, widths=list(pad), **fields)
    return line


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    return call("batch_norm", input, running_mean, running_var, weight, bias, training=training,
                momentum=momentum, eps=eps)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
    need(dropout_p == 0.0, "random results")
    return call("scaled_dot_product_attention", query, key, value, attn_mask, dropout_p=dropout_p,
                is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


def embedding(weight, input, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):
    need(max_norm is None, "max_norm")
    need(not scale_grad_by_freq, "scale_grad_by_freq")
    need(not sparse, "sparse gradients, which test/ops covers")
    return call("embedding", weight, input, padding_index=padding_idx)


def indexed(input, indices):
    if isinstance(indices, list) and all(isinstance(index, int) for index in indices):
        indices = torch.tensor(indices)
    indices = indices if isinstance(indices, (tuple, list)) else (indices,)
    tensors, made = [], []
    for index in indices:
        if isinstance(index, bool) or isinstance(index, (list, tuple)):
            index = torch.tensor(index)
        if isinstance(index, slice):
            made.append([index.start or 0, 2**62 if index.stop is None else index.stop,
                         index.step or 1])
        elif is_tensor(index):
            tensors.append(index)
            made.append({"tensor": len(tensors)})
        else:
            made.append("..." if index is Ellipsis else "new" if index is None else index)
    return call("index", input, *tensors, indices=made)


def permuted(input, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return call("permute", input, order=numbers(dims))


def split(input, split_size_or_sections, dim=0):
    size = split_size_or_sections
    return (call("split_size", input, size=size, dim=dim) if isinstance(size, int) else
            call("split", input, sizes=list(size), dim=dim))


def extreme(do):
    def line(input, dim, keepdim=False):
        return call(f"{do}_dim", input, dim=dim, keepdim=keepdim)
    return line


def argmax(input, dim=None, keepdim=False):
    need(dim is not None, "the index in all elements: argmax() is of the last dimension")
    return call("argmax_dim", input, dim=dim, keepdim=keepdim)


def loss(do, *, tensors=(), **defaults):
    """A loss with `defaults` as options; options in `tensors` are operands."""
    def line(input, target, *more, **options):
        given = {**defaults, "reduction": "mean", **options}
        operands = list(more) + [given.pop(name, None) for name in tensors[len(more):]]
        for name in given:
            need(name in defaults or name == "reduction", f"argument {name}")
        return call(do, input, target, *operands, **given)
    return line


def kl_div(input, target, reduction="mean", log_target=False):
    return call("kl_div", input, target, log_target=log_target,
                batch_mean=reduction == "batchmean",
                reduction="mean" if reduction == "batchmean" else reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):
    lengths = [torch.as_tensor(n).flatten().tolist() for n in (input_lengths, target_lengths)]
    return call("ctc_loss", log_probs, targets, input_lengths=lengths[0],
                target_lengths=lengths[1], blank=blank, zero_infinity=zero_infinity,
                reduction=reduction)


def clamp(input, min=None, max=None):
    need(not is_tensor(min) and not is_tensor(max), "bounds as tensors")
    return call("clamp", input, low=float("-inf") if min is None else number(min),
                high=float("inf") if max is None else number(max))


def where(input, condition, other):
    if not is_tensor(input) and not is_tensor(other):
        return call("numbers_where", condition, number=number(input), other=number(other))
    if not is_tensor(input):
        return call("number_where", condition, other, number=number(input))
    if is_tensor(other):
        return call("where", condition, input, other)
    return call("where_number", condition, input, number=number(other))


def add(input, other, alpha=1):
    need(alpha == 1, "alpha")
    return binary("add")(input, other)


def sub(input, other, alpha=1):
    need(alpha == 1, "alpha")
    return binary("sub")(input, other)


def div(input, other, rounding_mode=None):
    need(rounding_mode is None, "rounding_mode")
    return binary("div")(input, other)


def as_strided(input, size, stride, storage_offset=0):
    need(input.is_contiguous() and input.storage_offset() == 0,
         "an offset in the storage: ours is from the first element")
    return call("as_strided", input, sizes=size, strides=stride, offset=storage_offset)


def gelu(input, approximate="none"):
    need(approximate in ("none", "tanh"), "a form by name: ours is an enumerator")
    return call("gelu", input, tanh=approximate == "tanh")


def roll(input, shifts, dims=None):
    need(dims is not None, "roll() of all elements")
    return call("roll", input, shifts=numbers(shifts), dims=numbers(dims))


def rsub(input, other, alpha=1):
    need(alpha == 1, "alpha")
    return (call("sub", other, input) if is_tensor(other) else
            call("number_sub", input, number=number(other)))


def plain_activation(do, **fixed):
    """An activation without options: those in `fixed` must have these values."""
    def line(input, inplace=False, **options):
        for name, value in options.items():
            need(name in fixed and value == fixed[name], f"argument {name}")
        return call(do, input)
    return line


OPERATIONS = {name: unary(name) for name in [
    "abs", "neg", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "sign",
    "floor", "ceil", "isnan", "isinf", "logical_not"]}
OPERATIONS.update({name: binary(name) for name in [
    "mul", "eq", "ne", "lt", "le", "gt", "ge"]})
OPERATIONS.update({
    "add": add,
    "sub": sub,
    "div": div,
    "true_divide": div,
    "round": lambda input, decimals=0: need(decimals == 0, "decimals") or call("round", input),
    "pow": lambda input, exponent: call("pow", input, number=number(exponent)),
    "__radd__": lambda input, other: call("add_number", input, number=number(other)),
    "__rmul__": lambda input, other: call("mul_number", input, number=number(other)),
    "__rsub__": lambda input, other: call("number_sub", input, number=number(other)),
    "__rdiv__": lambda input, other: call("number_div", input, number=number(other)),
    "rsub": rsub,
    "clamp": clamp,
    "where": where,
    "masked_fill": lambda input, mask, value: call("masked_fill", input, mask,
                                                   number=number(value)),
    # Reductions and products.
    "sum": reduced("sum"),
    "mean": reduced("mean"),
    "max/reduction_no_dim": unary("max"),
    "max/reduction_with_dim": extreme("max"),
    "min/reduction_no_dim": unary("min"),
    "min/reduction_with_dim": extreme("min"),
    "argmax": argmax,
    "softmax": softmax("softmax"),
    "log_softmax": softmax("log_softmax"),
    "matmul": lambda input, other: call("matmul", input, other),
    "__rmatmul__": lambda input, other: call("matmul", other, input),
    "mm": lambda input, mat2: call("matmul", input, mat2),
    "bmm": lambda input, mat2: call("bmm", input, mat2),
    "addmm": lambda input, mat1, mat2, beta=1, alpha=1: call(
        "addmm", input, mat1, mat2, beta=number(beta), alpha=number(alpha)),
    "nn.functional.linear": lambda input, weight, bias=None: call("linear", input, weight, bias),
    # Shapes.
    "sum_to_size": lambda input, *size: call("sum_to", input, sizes=numbers(
        size[0] if len(size) == 1 else size)),
    "clone": lambda input, memory_format=None: need(
        memory_format in (None, torch.preserve_format), "memory_format") or call("clone", input),
    "contiguous": lambda input, memory_format=None: need(
        memory_format in (None, torch.contiguous_format), "memory_format")
        or call("contiguous", input),
    "reshape": lambda input, *shape: call("reshape", input, sizes=numbers(
        shape[0] if len(shape) == 1 else shape)),
    "reshape_as": lambda input, other: call("reshape", input, sizes=other.shape),
    "view": lambda input, *shape: call("view", input, sizes=numbers(
        shape[0] if len(shape) == 1 else shape)),
    "view_as": lambda input, other: call("view", input, sizes=other.shape),
    "transpose": lambda input, dim0, dim1: call("transpose", input, dim0=dim0, dim1=dim1),
    "t": unary("t"),
    "permute": permuted,
    "expand": lambda input, *size: call("expand", input, sizes=numbers(
        size[0] if len(size) == 1 else size)),
    "expand_as": lambda input, other: call("expand", input, sizes=other.shape),
    "broadcast_to": lambda input, size: call("expand", input, sizes=size),
    "squeeze": lambda input, dim: call("squeeze", input, dim=dim),
    "squeeze/multiple": None,
    "unsqueeze": lambda input, dim: call("unsqueeze", input, dim=dim),
    "as_strided": as_strided,
    "as_strided/partial_views": None,
    "narrow": lambda input, dim, start, length: call(
        "narrow", input, dim=dim, start=number(start), length=length),
    "select": lambda input, dim, index: call("select", input, dim=dim, index=number(index)),
    "slice": lambda input, dim=0, start=None, end=None, step=1: call(
        "slice", input, dim=dim, start=start or 0, end=2**62 if end is None else end, step=step),
    "split": split,
    "split_with_sizes": lambda input, split_sizes, dim=0: call(
        "split", input, sizes=split_sizes, dim=dim),
    "chunk": lambda input, chunks, dim=0: call("chunk", input, chunks=chunks, dim=dim),
    "unbind": lambda input, dim=0: call("unbind", input, dim=dim),
    "cat": lambda tensors, dim=0: call("cat", *tensors, dim=dim),
    "stack": lambda tensors, dim=0: call("stack", *tensors, dim=dim),
    "roll": roll,
    "flip": lambda input, dims: call("flip", input, dims=numbers(dims)),
    "constant_pad_nd": lambda input, pad, value=0: call("pad", input, widths=pad,
                                                           number=number(value)),
    "nn.functional.pad/constant": padded("pad"),
    "nn.functional.pad/reflect": padded("pad_reflect"),
    "nn.functional.pad/replicate": padded("pad_replicate"),
    "nn.functional.pad/replicate_negative": padded("pad_replicate"),
    "nn.functional.pad/circular": padded("pad_circular"),
    # Indices.
    "__getitem__": indexed,
    "index_select": lambda input, dim, index: call("index_select", input, index, dim=dim),
    "gather": lambda input, dim, index, sparse_grad=False: call("gather", input, index, dim=dim),
    "scatter_add": lambda input, dim, index, src: call("scatter_add", input, index, src, dim=dim),
    "nonzero": lambda input, as_tuple=False: need(not as_tuple, "as_tuple")
        or call("nonzero", input),
    "nn.functional.embedding": embedding,
    # Activations.
    "nn.functional.relu": plain_activation("relu"),
    "nn.functional.relu6": plain_activation("relu6"),
    "nn.functional.silu": plain_activation("silu"),
    "nn.functional.silu/complex": None,
    "nn.functional.mish": plain_activation("mish"),
    "nn.functional.softplus": lambda input, beta=1, threshold=20: call(
        "softplus", input, beta=number(beta), threshold=number(threshold)),
    "nn.functional.softsign": unary("softsign"),
    "nn.functional.tanhshrink": unary("tanhshrink"),
    "nn.functional.logsigmoid": unary("log_sigmoid"),
    "nn.functional.hardtanh": lambda input, min_val=-1.0, max_val=1.0, inplace=False: call(
        "hardtanh", input, low=number(min_val), high=number(max_val)),
    "nn.functional.hardsigmoid": plain_activation("hardsigmoid"),
    "nn.functional.hardswish": plain_activation("hardswish"),
    "nn.functional.leaky_relu": lambda input, negative_slope=0.01, inplace=False: call(
        "leaky_relu", input, number=negative_slope),
    "nn.functional.elu": lambda input, alpha=1.0, inplace=False: call(
        "elu", input, number=number(alpha)),
    "nn.functional.glu": lambda input, dim=-1: call("glu", input, dim=dim),
    "nn.functional.gelu": gelu,
    # Images, norms, attention.
    "nn.functional.pixel_shuffle": lambda input, upscale_factor: call(
        "pixel_shuffle", input, factor=upscale_factor),
    "nn.functional.pixel_unshuffle": lambda input, downscale_factor: call(
        "pixel_unshuffle", input, factor=downscale_factor),
    "nn.functional.batch_norm": batch_norm,
    "nn.functional.layer_norm": lambda input, normalized_shape, weight=None, bias=None, eps=1e-5:
        call("layer_norm", input, weight, bias, normalized_shape=normalized_shape, eps=eps),
    "nn.functional.group_norm": lambda input, num_groups, weight=None, bias=None, eps=1e-5:
        call("group_norm", input, weight, bias, groups=num_groups, eps=eps),
    "nn.functional.rms_norm": lambda input, normalized_shape, weight=None, eps=None: need(
        eps is not None, "eps of the dtype")
        or call("rms_norm", input, weight, normalized_shape=normalized_shape, eps=eps),
    "nn.functional.scaled_dot_product_attention": attention,
    # Losses.
    "nn.functional.mse_loss": loss("mse_loss"),
    "nn.functional.l1_loss": loss("l1_loss"),
    "nn.functional.smooth_l1_loss": loss("smooth_l1_loss", beta=1.0),
    "nn.functional.huber_loss": loss("huber_loss", delta=1.0),
    "nn.functional.soft_margin_loss": loss("soft_margin_loss"),
    "nn.functional.nll_loss": loss("nll_loss", tensors=("weight",), ignore_index=-100),
    "nn.functional.cross_entropy": loss("cross_entropy", tensors=("weight",), ignore_index=-100,
                                        label_smoothing=0.0),
    "nn.functional.kl_div": kl_div,
    "nn.functional.binary_cross_entropy": loss("binary_cross_entropy", tensors=("weight",)),
    "nn.functional.binary_cross_entropy_with_logits": loss(
        "binary_cross_entropy_with_logits", tensors=("weight", "pos_weight")),
    "nn.functional.poisson_nll_loss": loss("poisson_nll_loss", log_input=True, full=False,
                                           eps=1e-8),
    "nn.functional.gaussian_nll_loss": loss("gaussian_nll_loss", tensors=("var",), full=False,
                                            eps=1e-6),
    "nn.functional.cosine_embedding_loss": loss("cosine_embedding_loss", tensors=("target",),
                                                margin=0.0),
    "nn.functional.margin_ranking_loss": loss("margin_ranking_loss", tensors=("target",),
                                              margin=0.0),
    "nn.functional.hinge_embedding_loss": loss("hinge_embedding_loss", margin=1.0),
    "nn.functional.triplet_margin_loss": loss("triplet_margin_loss", tensors=("negative",),
                                              margin=1.0, p=2.0, eps=1e-6, swap=False),
    "nn.functional.multi_margin_loss": loss("multi_margin_loss", tensors=("weight",), p=1,
                                            margin=1.0),
    "nn.functional.multilabel_margin_loss": loss("multilabel_margin_loss"),
    "nn.functional.multilabel_soft_margin_loss": loss("multilabel_soft_margin_loss",
                                                      tensors=("weight",)),
    "nn.functional.ctc_loss": ctc_loss,
    "nn.functional.cosine_similarity": lambda x1, x2, dim=1, eps=1e-8: call(
        "cosine_similarity", x1, x2, dim=dim, eps=eps),
    "nn.functional.pairwise_distance": lambda x1, x2, p=2.0, eps=1e-6, keepdim=False: call(
        "pairwise_distance", x1, x2, p=p, eps=eps, keepdim=keepdim),
})
