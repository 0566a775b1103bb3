# SPDX-License-Identifier: Apache-2.0
"""The table of functions in docs/operators.md: each name of op_db is ours or left out."""

import difflib
import pathlib
import re

from lines import line_of

BEGIN = "<!-- The table of functions, by test/op_db/run.py --table -->"
END = "<!-- The end of the table of functions -->"

# Names of ours, if not PyTorch's without "nn.functional.". A line in operations.py is compared.
OURS = {
    "__rmod__": "`remainder`", "__rand__": "`bitwise_and`", "__ror__": "`bitwise_or`",
    "__rxor__": "`bitwise_xor`", "__rpow__": "`pow`",
    "__radd__": "`+`", "__rmul__": "`*`", "__rsub__": "`-`", "__rdiv__": "`/`",
    "__rmatmul__": "`matmul`", "__getitem__": "`x.index({…})`", "true_divide": "`div`",
    "rsub": "`-`", "mm": "`matmul`",
    "nn.functional.upsample_nearest": "`interpolate`",
    "nn.functional.upsample_bilinear": "`interpolate`",
    "reshape_as": "`reshape`", "view_as": "`view`", "expand_as": "`expand`",
    "broadcast_to": "`expand`", "split_with_sizes": "`split`", "constant_pad_nd": "`pad`",
    "as_strided": "`autograd::as_strided`", "sum_to_size": "`autograd::sum_to`",
    "t": "`x.t()`", "contiguous": "`x.contiguous()`",
    "nn.functional.pad": "`pad`, `nn::Pad`", "nn.functional.pixel_shuffle": "`nn::PixelShuffle`",
    "nn.functional.pixel_unshuffle": "`nn::PixelUnshuffle`",
    "nn.functional.logsigmoid": "`log_sigmoid`",
    "nn.functional.tanhshrink": "`nn::activation::tanhshrink`",
    "linalg.vector_norm": "`vector_norm`", "special.xlog1py": "`xlog1py`",
    "linalg.cross": "`cross`", "mT": "`matrix_transpose`",
}

# Ours in another form, with tests elsewhere: random, without a value, or a module with a state.
ELSEWHERE = {
    "nn.functional.prelu": "`nn::PReLU`",
    "nn.functional.instance_norm": "`nn::InstanceNorm1d` to `3d`",
    "nn.functional.dropout": "`dropout`",
    "nn.functional.multi_head_attention_forward": "`nn::MultiheadAttention`",
    "to": "`to`", "item": "`x.item<T>()`",
    "index_put": "`x.index_put_({…}, value)`", "fill": "`x.fill_()`", "zero_": "`x.zero_()`",
    "uniform": "`autograd::uniform_`", "normal": "`autograd::normal_`",
    "bernoulli": "`autograd::bernoulli_`",
    **{name: f"`{name}`" for name in ["arange", "zeros", "ones", "full", "randn"]},
    # The random programs compare these, or tests of ops/ with PyTorch's results.
    **{name: f"`{name}`" for name in [
        "allclose", "argsort", "bincount", "broadcast_tensors", "bucketize", "eye", "full_like",
        "histc", "index_add", "index_copy", "index_fill", "isclose", "kthvalue", "linspace",
        "logit", "logspace", "masked_scatter", "masked_select", "meshgrid", "multinomial",
        "nan_to_num", "put", "rand_like", "randn_like", "repeat_interleave", "scatter_reduce",
        "searchsorted", "sort", "take", "take_along_dim", "tensor_split", "tensordot", "topk",
        "tril_indices", "triu_indices", "unique", "unique_consecutive"]},
    "nn.functional.bilinear": "`nn::Bilinear`", "nn.functional.embedding_bag": "`nn::EmbeddingBag`",
    "nn.functional.one_hot": "`one_hot`", "nn.functional.softmin": "`nn::Softmin`",
    "nn.functional.channel_shuffle": "`channel_shuffle`", "nn.functional.unfold": "`unfold`",
    "nn.functional.local_response_norm": "`nn::LocalResponseNorm`",
    "nn.functional.rrelu": "`rrelu`", "nn.functional.alpha_dropout": "`nn::AlphaDropout`",
    "nn.functional.dropout2d": "`nn::Dropout2d`", "nn.functional.dropout3d": "`nn::Dropout3d`",
    "polygamma": "`polygamma`", "T": "`x.t()`",
    "broadcast_shapes": "`broadcast_shapes`", "equal": "`equal`", "randint": "`randint`",
    **{name: f"`autograd::{name}_`" for name in [
        "exponential", "geometric", "log_normal", "cauchy"]},
    "nn.functional.feature_alpha_dropout": "`nn::FeatureAlphaDropout`",
    "trace": "`matrix_trace`",
    **{name: "`to`" for name in [
        "bfloat16", "half", "float", "double", "byte", "char", "short", "int", "long", "bool"]},
}

# Reasons to leave names out, by regular expression; the first that fits counts.
LEFT_OUT = [
    ("PyTorch's internals, copies of views, and aliases",
     r"_(?!segment).*|torch\..*|jiterator_.*|native_.*|unsafe_.*|(?!index).*_copy|.*_backward|"
     r"grid_sampler_.*|nonzero_static|hash_tensor|resize_.*"),
    ("tensors like another: `zeros(x.shape(), …)` and the others take its shape and dtype",
     r"new_.*|.*_like|empty.*|scalar_tensor"),
    ("no complex numbers",
     r"fft\..*|i?stft|view_as_(real|complex)|conj.*|resolve_.*|complex|polar|real|imag|angle|"
     r"c(double|float|half)|sgn|isreal|.*\.H|H|mH"),
    ("no decompositions of matrices",
     r"linalg\..*|.*cholesky.*|lu|lu_.*|qr|svd.*|pca_lowrank|geqrf|ormqr|triangular_solve|"
     r"pinverse|logdet|matrix_exp"),
    ("no special functions of mathematics and windows of signals",
     r"special\..*|signal\..*|i0|igammac?|lgamma|digamma|polygamma|mvlgamma|erfinv|erfc|xlogy"),
    ("no sparse or masked tensors", r"masked\..*|sparse\..*|to_sparse|_segment_reduce"),
    ("no histograms with bounds, and further integrals", r"hist.*|trapz|"
     r"nn\.functional\.pdist"),
    ("nothing yet", ".*"),
]


def names_of(database):
    """Each name, and whether operations.py has a line for one of its variants."""
    names = {}
    for entry in database:
        names[entry.name] = names.get(entry.name, False) or line_of(entry) is not None
    return names


def ours_of(name):
    return OURS.get(name, f"`{name.removeprefix('nn.functional.')}`")


def quoted(names):
    return ", ".join(f"`{name}`" for name in sorted(names))


def reason_of(name):
    return next(reason for reason, pattern in LEFT_OUT if re.fullmatch(pattern, name))


def table(database):
    names = names_of(database)
    compared = [name for name, has in names.items() if has]
    same = [n for n in compared if ours_of(n) == f"`{n}`"]
    under = [n for n in compared if n.startswith("nn.functional.")
             and ours_of(n) == f"`{n.removeprefix('nn.functional.')}`"]
    others = {n: ours_of(n) for n in compared if n not in same and n not in under}
    elsewhere = {n: ours for n, ours in ELSEWHERE.items() if n in names and not names[n]}
    alike = [n for n, ours in elsewhere.items() if ours == f"`{n.removeprefix('nn.functional.')}`"]
    others.update({n: ours for n, ours in elsewhere.items() if n not in alike})
    lines = ["| PyTorch | ours |", "|---|---|",
             f"| `torch` or a method: {quoted(same)} | the same names |",
             f"| `torch.nn.functional`: {quoted(n.split('.')[-1] for n in under)} "
             "| the same names |",
             f"| compared elsewhere: {quoted(sorted(alike))} | the same names |"]
    by_ours = {}
    for name, ours in others.items():
        by_ours.setdefault(ours, []).append(name)
    lines += [f"| {quoted(members)} | {ours} |" for ours, members in sorted(by_ours.items())]
    lines += ["", "| left out | names |", "|---|---|"]
    left = [n for n, has in names.items() if not has and n not in ELSEWHERE]
    for reason, _ in LEFT_OUT:
        members = [n for n in left if reason_of(n) == reason]
        if members:
            lines.append(f"| {reason} | {quoted(members)} |")
    return "\n".join([BEGIN, "", *lines, "", END]) + "\n"


def show(database):
    print(table(database), end="")
    return 0


def check(page, database):
    text = pathlib.Path(page).read_text()
    wanted = table(database)
    found = text[text.find(BEGIN):text.find(END) + len(END) + 1]
    if BEGIN in text and found == wanted:
        return 0
    print(f"{page} has another table of functions than run.py --table prints:")
    print("\n".join(difflib.unified_diff(found.splitlines(), wanted.splitlines(), lineterm="")))
    return 1
