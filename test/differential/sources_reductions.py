# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for the operations of ops/reductions, and for amax, amin, argmin."""

SOURCES = {
    "var": ("torch.var({0}, {dims}, correction={correction}, keepdim={keepdim})",
            "hvd::var({0}, {dims}, {{.correction = {correction}, .keepdim = {keepdim}}})"),
    "std": ("torch.std({0}, {dims}, correction={correction}, keepdim={keepdim})",
            "hvd::std({0}, {dims}, {{.correction = {correction}, .keepdim = {keepdim}}})"),
    "vector_norm": ("torch.linalg.vector_norm({0}, {number}, {dims}, {keepdim})",
                    "hvd::vector_norm({0}, {number}, {dims}, {keepdim})"),
    "count_nonzero": ("torch.count_nonzero({0}, {dims})", "hvd::count_nonzero({0}, {dims})"),
    "prod": ("torch.prod({0})", "hvd::prod({0})"),
    "argmin": ("torch.argmin({0}, {dim}, {keepdim})", "hvd::argmin({0}, {dim}, {keepdim})"),
    "prod_dim": ("torch.prod({0}, {dim}, {keepdim})", "hvd::prod({0}, {dim}, {keepdim})"),
    "diff": ("torch.diff({0}, dim={dim})", "hvd::diff({0}, {dim})"),
}
SOURCES.update({name: (f"torch.{name}({{0}}, {{dim}})", f"hvd::{name}({{0}}, {{dim}})")
                for name in ["cumsum", "cumprod"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{dims}}, {{keepdim}})",
                       f"hvd::{name}({{0}}, {{dims}}, {{keepdim}})")
                for name in ["amax", "amin", "logsumexp", "any", "all"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{dims}}, keepdim={{keepdim}})",
                       f"hvd::{name}({{0}}, {{dims}}, {{keepdim}})")
                for name in ["nansum", "nanmean"]})
