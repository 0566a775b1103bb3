// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/interpolate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/scratch.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/sampling/taps.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The taps of all dimensions, of results and of gradients.
struct Resampling {
  std::vector<std::int64_t> given;  // Sizes of the image,
  std::vector<std::int64_t> made;   // and of the result.
  std::vector<TapLine> forward;
  std::vector<TapLine> backward;
};
using SharedResampling = std::shared_ptr<const Resampling>;
enum class Way { kForward, kBackward };

// Memory of sizes [outer, line, inner].
struct LineWalk {
  std::int64_t outer;
  std::int64_t inner;
};

// Blends along one dimension. A task is a result of a line or, if its elements
// are single numbers, a line.
template <typename T>
void blend_lines(const TapLine& taps, const LineWalk& walk, std::int64_t given,
                 const T* from, T* to) {
  const std::int64_t made = taps.size();
  const auto reads = static_cast<std::int64_t>(taps.index.size());
  if (walk.inner == 1) {
    parallel_for({.count = walk.outer, .cost = reads},
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t o = begin; o < end; ++o) {
                     blend_line(taps, from + o * given, to + o * made);
                   }
                 });
    return;
  }
  parallel_for({.count = walk.outer * made, .cost = walk.inner * reads / made},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   blend_taps(taps, i % made, walk.inner,
                              from + i / made * given * walk.inner,
                              to + i * walk.inner);
                 }
               });
}

// The dimensions that change, first those that shrink.
std::vector<std::size_t> order_of(const Resampling& plan, Way way) {
  const auto& taps = way == Way::kForward ? plan.forward : plan.backward;
  const auto& from = way == Way::kForward ? plan.given : plan.made;
  std::vector<std::size_t> order;
  for (std::size_t d = taps.size(); d-- > 0;) {
    if (!is_identity(taps[d], from[d])) order.push_back(d);
  }
  const auto growth = [&](std::size_t d) {
    return static_cast<double>(taps[d].size()) / static_cast<double>(from[d]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return growth(a) < growth(b); });
  return order;
}

// x, dense, to `out`, through temporary memory between the dimensions. Memory is
// [lead, image, tail]: tail is the number of channels if these are last.
template <typename T>
void resample(const Resampling& plan, Way way, const Tensor& x, Tensor& out,
              std::int64_t tail) {
  const auto& taps = way == Way::kForward ? plan.forward : plan.backward;
  std::vector<std::int64_t> sizes =
      way == Way::kForward ? plan.given : plan.made;
  const std::vector<std::size_t> order = order_of(plan, way);
  std::int64_t lead = x.num_elements() / tail;
  for (const std::int64_t size : sizes) lead /= size;
  const T* from = x.data<T>();
  Scratch held;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t d = order[k];
    LineWalk walk{.outer = lead, .inner = tail};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i < d) walk.outer *= sizes[i];
      if (i > d) walk.inner *= sizes[i];
    }
    Scratch next;
    T* to = out.data<T>();
    if (k + 1 < order.size()) {
      next = Scratch::of<T>(
          static_cast<std::size_t>(walk.outer * taps[d].size() * walk.inner));
      to = next.as<T>();
    }
    blend_lines(taps[d], walk, sizes[d], from, to);
    sizes[d] = taps[d].size();
    held = std::move(next);
    from = to;
  }
}

// Computes either direction. 16-bit types use float32 sums.
Tensor computed(const Tensor& input, const Resampling& plan, Way way) {
  NoGrad no_grad;
  const Tensor wide = widened(input);
  const bool last = is_channels_last(wide) && !wide.is_contiguous();
  const Tensor x = last ? wide : wide.contiguous();
  Dims shape = x.shape();
  const auto& sizes = way == Way::kForward ? plan.made : plan.given;
  for (std::size_t d = 0; d < sizes.size(); ++d) shape[d + 2] = sizes[d];
  if (order_of(plan, way).empty()) return input.detach().clone();
  Tensor out = last ? empty_channels_last(shape, x.dtype())
                    : empty(shape, {.dtype = x.dtype()});
  if (out.num_elements() == 0) return to(out, input.dtype());
  visit_floating(x.dtype(), "interpolate", [&]<typename T>(TypeTag<T>) {
    resample<T>(plan, way, x, out, last ? x.size(1) : 1);
  });
  return to(out, input.dtype());
}

// Both directions are linear, and derivatives of each other.
Tensor resampled(const Tensor& x, const SharedResampling& plan, Way way) {
  Tensor out =
      result_of("interpolate", [&] { return computed(x, *plan, way); });
  if (needs_grad(x)) {
    const bool forward = way == Way::kForward;
    const Way back = forward ? Way::kBackward : Way::kForward;
    record(out, forward ? "InterpolateBackward" : "InterpolateBackwardBackward",
           x, [plan, back](Tensor& dy) { return resampled(dy, plan, back); });
  }
  return out;
}

[[noreturn]] void refuse(const Tensor& x, const std::string& reason) {
  throw InvalidArgument(absl::StrCat(
      "interpolate: ", x.defined() ? x.describe() : "undefined", reason));
}

// The dimensions of the image, resized.
std::vector<ResizedLine> resized_lines(const Tensor& x,
                                       const InterpolateOptions& o) {
  if (!x.defined() || x.dim() < 3 || x.dim() > 5) {
    refuse(x, " is not [n, c, size] with a size of 1 to 3 dimensions");
  }
  const auto count = static_cast<std::size_t>(x.dim()) - 2;
  const std::size_t given = o.size.size() + o.scale.size();
  if (o.size.empty() == o.scale.empty() || (given != 1 && given != count)) {
    refuse(x, absl::StrCat(": give a size or a scale of ", count,
                           " numbers, or of one; got the size [",
                           absl::StrJoin(o.size, ","), "] and the scale [",
                           absl::StrJoin(o.scale, ","), "]"));
  }
  std::vector<ResizedLine> lines;
  for (std::size_t d = 0; d < count; ++d) {
    const std::size_t at = given == 1 ? 0 : d;
    ResizedLine line{.from = x.shape()[d + 2], .to = 0, .scale = {}};
    if (o.scale.empty()) {
      line.to = o.size[at];
    } else {
      line.scale = o.scale[at];
      const double to =
          std::floor(static_cast<double>(line.from) * o.scale[at]);
      if (to >= 1 && to < 0x1p31) line.to = static_cast<std::int64_t>(to);
    }
    if (line.from == 0 || !is_sound(line.to, 1)) {
      refuse(x, absl::StrCat(
                    ": sizes and results must be positive and less than 2^31; "
                    "got the size [",
                    absl::StrJoin(o.size, ","), "] and the scale [",
                    absl::StrJoin(o.scale, ","), "]"));
    }
    lines.push_back(line);
  }
  auto elements = static_cast<double>(x.size(0) * x.size(1));
  for (const ResizedLine& line : lines) {
    elements *= static_cast<double>(line.to);
  }
  if (elements > kMostElements) {
    refuse(x, ": the result would have more than 2^45 elements");
  }
  return lines;
}

void check_mode(const Tensor& x, const InterpolateOptions& o) {
  const bool nearest = o.mode == InterpolateMode::kNearest ||
                       o.mode == InterpolateMode::kNearestExact;
  if (!nearest && !is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), "interpolate", "floating point");
  }
  if (o.mode == InterpolateMode::kCubic && x.dim() != 4) {
    refuse(x, ": kCubic is of images [n, c, height, width]");
  }
  if (o.align_corners && (nearest || o.mode == InterpolateMode::kArea)) {
    refuse(x, ": align_corners is for kLinear and kCubic");
  }
  if (o.antialias &&
      (nearest || o.mode == InterpolateMode::kArea || x.dim() != 4)) {
    refuse(x,
           ": antialias is for kLinear and kCubic of images [n, c, height, "
           "width]");
  }
}

Tensor area(const Tensor& x, const std::vector<ResizedLine>& lines) {
  if (lines.size() == 1) return adaptive_avg_pool1d(x, lines[0].to);
  if (lines.size() == 2) {
    return adaptive_avg_pool2d(x, {lines[0].to, lines[1].to});
  }
  return adaptive_avg_pool3d(x, {lines[0].to, lines[1].to, lines[2].to});
}

// For dtypes without weights.
Tensor picked(Tensor x, const std::vector<TapLine>& taps) {
  for (std::size_t d = 0; d < taps.size(); ++d) {
    x = index_select(x, static_cast<std::int64_t>(d) + 2,
                     from_vector(taps[d].index, {taps[d].size()}));
  }
  return x;
}

}  // namespace
}  // namespace autograd

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  const auto lines = autograd::resized_lines(x, options);
  autograd::check_mode(x, options);
  if (options.mode == InterpolateMode::kArea) return autograd::area(x, lines);
  auto plan = std::make_shared<autograd::Resampling>();
  for (const autograd::ResizedLine& line : lines) {
    plan->given.push_back(line.from);
    plan->made.push_back(line.to);
    plan->forward.push_back(
        options.antialias
            ? autograd::covering_taps_of(line, options.mode,
                                         options.align_corners)
            : autograd::taps_of(line, options.mode, options.align_corners));
    if (!autograd::needs_grad(x)) continue;
    plan->backward.push_back(
        autograd::transposed(plan->forward.back(), line.from));
  }
  if (!is_floating_point(x.dtype())) {
    return autograd::picked(x, plan->forward);
  }
  return autograd::resampled(x, plan, autograd::Way::kForward);
}

}  // namespace hvd
