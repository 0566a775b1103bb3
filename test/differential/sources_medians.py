# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for medians, quantiles, distinct slices and running extremes."""

BETWEEN = ["linear", "lower", "higher", "nearest", "midpoint"]
OPTIONS = ("{{.dim = {dim}, .keepdim = {keepdim}, "
           ".interpolation = static_cast<hvd::Interpolation>({between})}}")

SOURCES = {
    "median_dim": ("median({0}, {dim}, {keepdim})", "hvd::median({0}, {dim}, {keepdim})"),
    "nanmedian_dim": ("nanmedian({0}, {dim}, {keepdim})", "hvd::nanmedian({0}, {dim}, {keepdim})"),
    "mode": ("torch.mode({0}, {dim}, {keepdim})", "hvd::mode({0}, {dim}, {keepdim})"),
    "unique_dim": ("torch.unique({0}.detach(), dim={dim}, return_inverse=True, "
                   "return_counts=True)", "hvd::unique({0}, {dim})"),
    "unique_consecutive": ("torch.unique_consecutive({0}.detach(), dim={dim}, "
                           "return_inverse=True, return_counts=True)",
                           "hvd::unique_consecutive({0}, {dim})"),
    "isin": ("torch.isin({0}.detach(), {1}.detach())", "hvd::isin({0}, {1})"),
    "norm": ("torch.linalg.vector_norm({0}, {number}, {dims}, {keepdim})",
             "hvd::norm({0}, {number}, {dims}, {keepdim})"),
    "renorm": ("torch.renorm({0}, {number}, {dim}, {limit})",
               "hvd::renorm({0}, {number}, {dim}, {limit})"),
    "equal": ("torch.tensor(torch.equal({0}, {1}))", "hvd::equal({0}, {1})"),
}
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}}, {{dim}}, {{keepdim}}, "
                       f"interpolation={BETWEEN}[{{between}} % 5])",
                       f"hvd::{name}({{0}}, {{1}}, {OPTIONS})")
                for name in ["quantile", "nanquantile"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{dim}})", f"hvd::{name}({{0}}, {{dim}})")
                for name in ["cummax", "cummin", "logcumsumexp"]})
SOURCES.update({name: (f"torch.{name}({{0}})", f"hvd::{name}({{0}})")
                for name in ["median", "nanmedian", "msort"]})

# Not rounded.
EXACT = {"median", "nanmedian", "median_dim", "nanmedian_dim", "mode", "msort", "cummax", "cummin",
         "unique_dim", "unique_consecutive", "isin", "equal"}
