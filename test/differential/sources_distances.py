# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for distances, covariances, combinations and places."""

SOURCES = {
    "cdist": ("torch.cdist({0}, {1}, {number})", "hvd::cdist({0}, {1}, {number})"),
    "cross": ("torch.linalg.cross({0}, {1}, dim={dim})", "hvd::cross({0}, {1}, {dim})"),
    "vdot": ("torch.vdot({0}, {1})", "hvd::vdot({0}, {1})"),
    "cov": ("torch.cov({0}, correction={correction})", "hvd::cov({0}, {correction})"),
    "cov_weighted": (
        "torch.cov({0}, correction={correction}, fweights={1}, aweights={2})",
        "hvd::cov({0}, {{.correction = {correction}, .fweights = {1}, .aweights = {2}}})"),
    "gradient": ("gradient({all}, {spacing}, {dims}, {edge_order})",
                 "hvd::gradient({0}, {{.dims = {dims}, .spacing = {spacing}, "
                 ".coordinates = rest of {all}, .edge_order = {edge_order}}})"),
    "corrcoef": ("torch.corrcoef({0})", "hvd::corrcoef({0})"),
    "cumulative_trapezoid": ("torch.cumulative_trapezoid({0}, dx={number}, dim={dim})",
                             "hvd::cumulative_trapezoid({0}, {number}, {dim})"),
    "combinations": ("torch.combinations({0}, {count}, {repeated})",
                     "hvd::combinations({0}, {count}, {repeated})"),
    "argwhere": ("torch.argwhere({0})", "hvd::argwhere({0})"),
    "unravel_index": ("tuple(x.clone() for x in torch.unravel_index({0}, {sizes}))", "hvd::unravel_index({0}, {sizes})"),
    "broadcast_shapes": ("torch.zeros(torch.broadcast_shapes(*[x.shape for x in {all}]))",
                         "hvd::zeros(shape_of_all({all}))"),
    "matrix_transpose": ("{0}.mT", "hvd::matrix_transpose({0})"),
}
EXACT = {"combinations", "argwhere", "unravel_index", "broadcast_shapes", "matrix_transpose"}
