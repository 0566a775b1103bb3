# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for the operations of ops/composed."""

FACTORS = "{{.beta = {beta}, .alpha = {alpha}}}"

SOURCES = {
    "aminmax": ("torch.aminmax({0}, dim={dims}[0], keepdim={keepdim})",
                "hvd::aminmax({0}, {dims}, {keepdim})"),
    "dist": ("torch.dist({0}, {1}, {number})", "hvd::dist({0}, {1}, {number})"),
    "normalize": ("F.normalize({0}, {number}, {dim}, {eps})",
                  "hvd::normalize({0}, {{.order = {number}, .dim = {dim}, .eps = {eps}}})"),
    "trapezoid": ("torch.trapezoid({0}, dx={number}, dim={dim})",
                  "hvd::trapezoid({0}, {number}, {dim})"),
    "diagflat": ("torch.diagflat({0}, {offset})", "hvd::diagflat({0}, {offset})"),
    "block_diag": ("torch.block_diag(*{all})", "hvd::block_diag({all})"),
    "cartesian_prod": ("torch.cartesian_prod(*{all})", "hvd::cartesian_prod({all})"),
    "select_scatter": ("torch.select_scatter({0}, {1}, {dim}, {index})",
                       "hvd::select_scatter({0}, {1}, {dim}, {index})"),
    "slice_scatter": ("torch.slice_scatter({0}, {1}, {dim}, {start}, {end}, {step})",
                      "hvd::slice_scatter({0}, {1}, {dim}, {start}, {end}, {step})"),
    "diagonal_scatter": ("torch.diagonal_scatter({0}, {1}, {offset}, {dim1}, {dim2})",
                         "hvd::diagonal_scatter({0}, {1}, {offset}, {dim1}, {dim2})"),
}
SOURCES.update({name: (f"torch.{name}({{0}}, {{dims}}, correction={{correction}}, "
                       f"keepdim={{keepdim}})",
                       f"hvd::{name}({{0}}, {{dims}}, {{{{.correction = {{correction}}, "
                       f".keepdim = {{keepdim}}}}}})")
                for name in ["std_mean", "var_mean"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{number}})", f"hvd::{name}({{0}}, {{number}})")
                for name in ["clamp_min", "clamp_max"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}}, {{2}}, beta={{beta}}, alpha={{alpha}})",
                       f"hvd::{name}({{0}}, {{1}}, {{2}}, {FACTORS})")
                for name in ["addmv", "addr", "addbmm"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}})", f"hvd::{name}({{0}}, {{1}})")
                for name in ["inner", "kron"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{sections}})", f"hvd::{name}({{0}}, {{sections}})")
                for name in ["hsplit", "vsplit", "dsplit"]})
SOURCES.update({name: (f"torch.{name}({{0}})", f"hvd::{name}({{0}})")
                for name in ["ravel", "deg2rad", "rad2deg", "isposinf", "isneginf"]})
SOURCES["trace"] = ("torch.trace({0})", "hvd::matrix_trace({0})")
