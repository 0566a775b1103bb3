# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for writes by indices and masks."""

REDUCE = {"sum": "kSum", "prod": "kProd", "mean": "kMean", "amax": "kMax", "amin": "kMin"}


def _both(name, arguments, python_name=None):
    return (f"torch.{python_name or name}({arguments})", f"hvd::{name}({arguments})")


SOURCES = {
    "scatter": _both("scatter", "{0}, {dim}, {1}, {2}"),
    "scatter_number": _both("scatter", "{0}, {dim}, {1}, {number}"),
    "scatter_": ("{0}.scatter_({dim}, {1}, {2})", "hvd::scatter_({0}, {dim}, {1}, {2})"),
    "scatter_number_": ("{0}.scatter_({dim}, {1}, {number})",
                        "hvd::scatter_({0}, {dim}, {1}, {number})"),
    "scatter_add_": ("{0}.scatter_add_({dim}, {1}, {2})",
                     "hvd::scatter_add_({0}, {dim}, {1}, {2})"),
    "scatter_reduce": (
        "torch.scatter_reduce({0}, {dim}, {1}, {2}, {reduce}, include_self={include_self})",
        "hvd::scatter_reduce({0}, {dim}, {1}, {2}, {reduce}, {include_self})"),
    "scatter_reduce_": (
        "{0}.scatter_reduce_({dim}, {1}, {2}, {reduce}, include_self={include_self})",
        "hvd::scatter_reduce_({0}, {dim}, {1}, {2}, {reduce}, {include_self})"),
    "index_add": ("torch.index_add({0}, {dim}, {1}, {2}, alpha={alpha})",
                  "hvd::index_add({0}, {dim}, {1}, {2}, {alpha})"),
    "index_add_": ("{0}.index_add_({dim}, {1}, {2}, alpha={alpha})",
                   "hvd::index_add_({0}, {dim}, {1}, {2}, {alpha})"),
    "index_copy": _both("index_copy", "{0}, {dim}, {1}, {2}"),
    "index_copy_": ("{0}.index_copy_({dim}, {1}, {2})", "hvd::index_copy_({0}, {dim}, {1}, {2})"),
    "index_fill": _both("index_fill", "{0}, {dim}, {1}, {number}"),
    "index_fill_": ("{0}.index_fill_({dim}, {1}, {number})",
                    "hvd::index_fill_({0}, {dim}, {1}, {number})"),
    "take": _both("take", "{0}, {1}"),
    "take_along_dim": _both("take_along_dim", "{0}, {1}, {dim}"),
    "put": ("{0}.put({1}, {2}, accumulate={accumulate})",
            "hvd::put({0}, {1}, {2}, {accumulate})"),
    "put_": ("{0}.put_({1}, {2}, accumulate={accumulate})",
             "hvd::put_({0}, {1}, {2}, {accumulate})"),
    "masked_select": _both("masked_select", "{0}, {1}"),
    "masked_fill_tensor": ("{0}.masked_fill({1}, {2})", "hvd::masked_fill({0}, {1}, {2})"),
    "masked_fill_": ("{0}.masked_fill_({1}, {number})",
                     "hvd::masked_fill_({0}, {1}, {number})"),
    "masked_fill_tensor_": ("{0}.masked_fill_({1}, {2})", "hvd::masked_fill_({0}, {1}, {2})"),
    "masked_scatter": _both("masked_scatter", "{0}, {1}, {2}"),
    "masked_scatter_": ("{0}.masked_scatter_({1}, {2})", "hvd::masked_scatter_({0}, {1}, {2})"),
    "index_put": ("torch.index_put({0}, ({1},), {2}, accumulate={accumulate})",
                  "hvd::index_put({0}, {{{1}}}, {2}, {accumulate})"),
    "index_put_accumulate_": ("{0}.index_put_(({1},), {2}, accumulate={accumulate})",
                              "hvd::index_put_({0}, {{{1}}}, {2}, {accumulate})"),
}

EXACT = {name for name in SOURCES if not name.endswith("_")} - {
    "scatter_reduce", "index_add", "put", "index_put"}
ROUNDS_IN_PLACE = {"scatter_add_", "scatter_reduce_", "index_add_", "put_",
                   "index_put_accumulate_"}
