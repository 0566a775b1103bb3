# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for the operations of ops/images."""

CONV = ".stride = {stride}, .dilation = {dilation}, .groups = {groups}, .padding = {padding}"
POOL = ".kernel = {kernel}, .stride = {stride}, .padding = {padding}, "

MODES = {
    **{name: f"InterpolateMode::{ours}" for name, ours in {
        "nearest": "kNearest", "nearest-exact": "kNearestExact", "area": "kArea",
        "linear": "kLinear", "bilinear": "kLinear", "trilinear": "kLinear",
        "bicubic": "kCubic"}.items()},
    "zeros": "GridPadding::kZeros", "border": "GridPadding::kBorder",
    "reflection": "GridPadding::kReflection",
}

SOURCES = {}
for dims in (1, 2, 3):
    SOURCES[f"conv{dims}d"] = (
        f"F.conv{dims}d({{0}}, {{1}}, {{2}}, {{stride}}, {{padding}}, {{dilation}}, {{groups}})",
        f"hvd::conv{dims}d({{0}}, {{1}}, {{2}}, {{{{{CONV}}}}})")
    SOURCES[f"conv_transpose{dims}d"] = (
        f"F.conv_transpose{dims}d({{0}}, {{1}}, {{2}}, {{stride}}, {{padding}}, "
        "{output_padding}, {groups}, {dilation})",
        f"hvd::conv_transpose{dims}d({{0}}, {{1}}, {{2}}, {{{{"
        f"{CONV.replace('.padding', '.output_padding = {output_padding}, .padding')}}}}})")
    for end in ("", "_with_indices"):
        SOURCES[f"max_pool{dims}d{end}"] = (
            f"F.max_pool{dims}d{end}({{0}}, {{kernel}}, {{stride}}, {{padding}}, {{dilation}}, "
            "{ceil_mode})",
            f"hvd::max_pool{dims}d{end}({{0}}, {{{{{POOL}.dilation = {{dilation}}, "
            ".ceil_mode = {ceil_mode}}})")
        SOURCES[f"adaptive_max_pool{dims}d{end}"] = (
            f"F.adaptive_max_pool{dims}d{end}({{0}}, {{size}})",
            f"hvd::adaptive_max_pool{dims}d{end}({{0}}, {{size}})")
    SOURCES[f"avg_pool{dims}d"] = (
        f"F.avg_pool{dims}d({{0}}, {{kernel}}, {{stride}}, {{padding}}, {{ceil_mode}}, "
        "{count_include_pad}" + (", {divisor})" if dims > 1 else ")"),
        f"hvd::avg_pool{dims}d({{0}}, {{{{{POOL}.ceil_mode = {{ceil_mode}}, "
        ".count_include_pad = {count_include_pad}, .divisor_override = {divisor}}})")
    for end in ("", "_with_indices") if dims > 1 else ():
        SOURCES[f"fractional_max_pool{dims}d{end}"] = (
            f"F.fractional_max_pool{dims}d{end}({{0}}, {{kernel}}, {{size}}, {{ratio}}, "
            "_random_samples={1})",
            f"hvd::fractional_max_pool{dims}d{end}({{0}}, {{{{.kernel = {{kernel}}, "
            ".output_size = {size}, .output_ratio = {ratio}, .samples = {1}}})")
    SOURCES[f"adaptive_avg_pool{dims}d"] = (f"F.adaptive_avg_pool{dims}d({{0}}, {{size}})",
                                            f"hvd::adaptive_avg_pool{dims}d({{0}}, {{size}})")
    SOURCES[f"max_unpool{dims}d"] = (
        f"F.max_unpool{dims}d({{0}}, {{1}}, {{kernel}}, {{stride}}, {{padding}})",
        f"hvd::max_unpool{dims}d({{0}}, {{1}}, {{{{{POOL.removesuffix(', ')}}}}})")
    KERNEL = "{kernel}[0]" if dims == 1 else "{kernel}"
    STRIDE = "{stride}[0]" if dims == 1 else "{stride}"
    SOURCES[f"lp_pool{dims}d"] = (
        f"F.lp_pool{dims}d({{0}}, {{power}}, {KERNEL}, {STRIDE}, {{ceil_mode}})",
        f"hvd::lp_pool{dims}d({{0}}, {{{{.power = {{power}}, .kernel = {{kernel}}, "
        ".stride = {stride}, .ceil_mode = {ceil_mode}}})")
SOURCES["interpolate"] = (
    "F.interpolate({0}, {size}, {scale}, {mode}, {align_corners}, antialias={antialias})",
    "hvd::interpolate({0}, {{.size = {size}, .scale = {scale}, .mode = {mode}, "
    ".align_corners = {align_corners}, .antialias = {antialias}}})")
SOURCES["grid_sample"] = (
    "F.grid_sample({0}, {1}, {mode}, {padding_mode}, {align_corners})",
    "hvd::grid_sample({0}, {1}, {{.mode = {mode}, .padding = {padding_mode}, "
    ".align_corners = {align_corners}}})")
SOURCES["affine_grid"] = ("F.affine_grid({0}, {sizes}, {align_corners})",
                          "hvd::affine_grid({0}, {sizes}, {align_corners})")
