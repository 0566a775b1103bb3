// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

// A statement's list of one, two or three numbers.
template <typename Size>
Size size_of(const Statement& s, const char* key) {
  const std::vector<std::int64_t> values = s.integers(key);
  if constexpr (std::is_same_v<Size, Triple>) {
    return {values.at(0), values.at(1), values.at(2)};
  } else if constexpr (std::is_same_v<Size, Pair>) {
    return {values.at(0), values.at(1)};
  } else {
    return values.at(0);
  }
}

// Whether the padding is this name, "same" or "valid", instead of numbers.
bool names_padding(const Statement& s, const char* name) {
  return s.is_text("padding") && s.text("padding") == name;
}
template <typename Size>
Size padding_of(const Statement& s) {
  return s.is_text("padding") ? Size(0) : size_of<Size>(s, "padding");
}

template <typename Size>
void add_convolution(Operations& all, const std::string& name,
                     Tensor (*run)(const Tensor&, const Tensor&, const Tensor&,
                                   const ConvOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    return Results{run(s[0], s[1], s[2],
                       {.stride = size_of<Size>(s, "stride"),
                        .padding = padding_of<Size>(s),
                        .dilation = size_of<Size>(s, "dilation"),
                        .groups = s.integer("groups"),
                        .same_padding = names_padding(s, "same")})};
  };
}

template <typename Size>
void add_transposed(Operations& all, const std::string& name,
                    Tensor (*run)(const Tensor&, const Tensor&, const Tensor&,
                                  const ConvTransposeOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    return Results{run(s[0], s[1], s[2],
                       {.stride = size_of<Size>(s, "stride"),
                        .padding = size_of<Size>(s, "padding"),
                        .output_padding = size_of<Size>(s, "output_padding"),
                        .dilation = size_of<Size>(s, "dilation"),
                        .groups = s.integer("groups")})};
  };
}

void add_convolutions(Operations& all) {
  add_convolution(all, "conv1d", conv1d);
  add_convolution(all, "conv2d", conv2d);
  add_convolution(all, "conv3d", conv3d);
  add_transposed(all, "conv_transpose1d", conv_transpose1d);
  add_transposed(all, "conv_transpose2d", conv_transpose2d);
  add_transposed(all, "conv_transpose3d", conv_transpose3d);
}

Results results_of(const Tensor& result) { return {result}; }
Results results_of(const MaxResult& result) {
  return {result.values, result.indices};
}

template <typename Size, typename Result>
void add_max_pool(Operations& all, const std::string& name,
                  Result (*run)(const Tensor&, const MaxPoolOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    return results_of(run(s[0], {.kernel = size_of<Size>(s, "kernel"),
                                 .stride = size_of<Size>(s, "stride"),
                                 .padding = size_of<Size>(s, "padding"),
                                 .dilation = size_of<Size>(s, "dilation"),
                                 .ceil_mode = s.flag("ceil_mode")}));
  };
}

template <typename Size>
void add_avg_pool(Operations& all, const std::string& name,
                  Tensor (*run)(const Tensor&, const AvgPoolOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    AvgPoolOptions<Size> options{
        .kernel = size_of<Size>(s, "kernel"),
        .stride = size_of<Size>(s, "stride"),
        .padding = size_of<Size>(s, "padding"),
        .ceil_mode = s.flag("ceil_mode"),
        .count_include_pad = s.flag("count_include_pad")};
    if (s.has("divisor")) options.divisor_override = s.integer("divisor");
    return Results{run(s[0], options)};
  };
}

template <typename Size, typename Result>
void add_fractional(Operations& all, const std::string& name,
                    Result (*run)(const Tensor&,
                                  const FractionalMaxPoolOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    FractionalMaxPoolOptions<Size> options{.kernel = size_of<Size>(s, "kernel"),
                                           .samples = s[1]};
    if (s.has("size")) options.output_size = size_of<Size>(s, "size");
    if (s.has("ratio")) options.output_ratio = s.numbers("ratio");
    return results_of(run(s[0], options));
  };
}

template <typename Size>
void add_lp_pool(Operations& all, const std::string& name,
                 Tensor (*run)(const Tensor&, const LPPoolOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    return Results{run(s[0], {.power = s.number("power"),
                              .kernel = size_of<Size>(s, "kernel"),
                              .stride = size_of<Size>(s, "stride"),
                              .ceil_mode = s.flag("ceil_mode")})};
  };
}

template <typename Size>
void add_max_unpool(Operations& all, const std::string& name,
                    Tensor (*run)(const Tensor&, const Tensor&,
                                  const MaxUnpoolOptions<Size>&)) {
  all[name] = [run](const Statement& s) {
    MaxUnpoolOptions<Size> options{.kernel = size_of<Size>(s, "kernel"),
                                   .stride = size_of<Size>(s, "stride"),
                                   .padding = size_of<Size>(s, "padding")};
    if (s.has("output_size")) {
      options.output_size = size_of<Size>(s, "output_size");
    }
    return Results{run(s[0], s[1], options)};
  };
}

template <typename Size, typename Result>
void add_adaptive(Operations& all, const std::string& name,
                  Result (*run)(const Tensor&, Size)) {
  all[name] = [run](const Statement& s) {
    return results_of(run(s[0], size_of<Size>(s, "size")));
  };
}

void add_pools(Operations& all) {
  add_max_pool(all, "max_pool1d", max_pool1d);
  add_max_pool(all, "max_pool2d", max_pool2d);
  add_max_pool(all, "max_pool3d", max_pool3d);
  add_max_pool(all, "max_pool1d_with_indices", max_pool1d_with_indices);
  add_max_pool(all, "max_pool2d_with_indices", max_pool2d_with_indices);
  add_max_pool(all, "max_pool3d_with_indices", max_pool3d_with_indices);
  add_avg_pool(all, "avg_pool1d", avg_pool1d);
  add_avg_pool(all, "avg_pool2d", avg_pool2d);
  add_avg_pool(all, "avg_pool3d", avg_pool3d);
  add_fractional(all, "fractional_max_pool2d", fractional_max_pool2d);
  add_fractional(all, "fractional_max_pool3d", fractional_max_pool3d);
  add_fractional(all, "fractional_max_pool2d_with_indices",
                 fractional_max_pool2d_with_indices);
  add_fractional(all, "fractional_max_pool3d_with_indices",
                 fractional_max_pool3d_with_indices);
  add_lp_pool(all, "lp_pool1d", lp_pool1d);
  add_lp_pool(all, "lp_pool2d", lp_pool2d);
  add_lp_pool(all, "lp_pool3d", lp_pool3d);
  add_max_unpool(all, "max_unpool1d", max_unpool1d);
  add_max_unpool(all, "max_unpool2d", max_unpool2d);
  add_max_unpool(all, "max_unpool3d", max_unpool3d);
}

void add_adaptive_pools(Operations& all) {
  add_adaptive(all, "adaptive_avg_pool1d", adaptive_avg_pool1d);
  add_adaptive(all, "adaptive_avg_pool2d", adaptive_avg_pool2d);
  add_adaptive(all, "adaptive_avg_pool3d", adaptive_avg_pool3d);
  add_adaptive(all, "adaptive_max_pool1d", adaptive_max_pool1d);
  add_adaptive(all, "adaptive_max_pool2d", adaptive_max_pool2d);
  add_adaptive(all, "adaptive_max_pool3d", adaptive_max_pool3d);
  add_adaptive(all, "adaptive_max_pool1d_with_indices",
               adaptive_max_pool1d_with_indices);
  add_adaptive(all, "adaptive_max_pool2d_with_indices",
               adaptive_max_pool2d_with_indices);
  add_adaptive(all, "adaptive_max_pool3d_with_indices",
               adaptive_max_pool3d_with_indices);
}

InterpolateMode mode_of(const Statement& s) {
  const std::string name = s.text("mode");
  if (name == "nearest") return InterpolateMode::kNearest;
  if (name == "nearest-exact") return InterpolateMode::kNearestExact;
  if (name == "area") return InterpolateMode::kArea;
  return name == "bicubic" ? InterpolateMode::kCubic : InterpolateMode::kLinear;
}

void add_interpolation(Operations& all) {
  all["interpolate"] = [](const Statement& s) {
    InterpolateOptions options{.mode = mode_of(s)};
    if (s.has("align_corners")) options.align_corners = s.flag("align_corners");
    if (s.has("antialias")) options.antialias = s.flag("antialias");
    if (s.has("size")) options.size = s.integers("size");
    if (s.has("scale")) options.scale = s.numbers("scale");
    return Results{interpolate(s[0], options)};
  };
}

void add_grids(Operations& all) {
  all["grid_sample"] = [](const Statement& s) {
    const std::string padding = s.text("padding_mode");
    return Results{grid_sample(
        s[0], s[1],
        {.mode = mode_of(s),
         .padding = padding == "zeros"    ? GridPadding::kZeros
                    : padding == "border" ? GridPadding::kBorder
                                          : GridPadding::kReflection,
         .align_corners = s.flag("align_corners")})};
  };
  all["affine_grid"] = [](const Statement& s) {
    return Results{affine_grid(s[0], s.dims("sizes"), s.flag("align_corners"))};
  };
}

}  // namespace

void add_image_operations(Operations& all) {
  add_convolutions(all);
  add_pools(all);
  add_adaptive_pools(all);
  add_interpolation(all);
  add_grids(all);
}

}  // namespace hvd::differential
