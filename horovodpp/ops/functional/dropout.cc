// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/dropout.h"

#include <cmath>
#include <memory>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/loops/mask_loops.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

constexpr std::int64_t kElementsPerBlock = 4;  // Of the generator.
constexpr std::int64_t kTile = 64;
constexpr std::int64_t kBlock = 8 * kTile;

// x with the mask applied, 16-bit types via float; not recorded.
Tensor masked(const Tensor& x, const DropoutMask& mask) {
  NoGrad no_grad;
  const Tensor in = x.detach().contiguous();
  Tensor out = empty_like(in);
  const std::int64_t n = in.num_elements();
  visit_any_floating(in.dtype(), "dropout", [&]<typename T>(TypeTag<T>) {
    const T* from = in.data<T>();
    T* to = out.data<T>();
    if constexpr (sizeof(T) == 2) {
      parallel_for({.count = n, .multiple = kBlock}, [&](std::int64_t begin,
                                                         std::int64_t end) {
        float block[kBlock];
        for (std::int64_t at = begin; at < end; at += kBlock) {
          const auto count =
              static_cast<std::size_t>(std::min(kBlock, end - at));
          widen(from + at, block, count);
          mask.apply(block, block, at, static_cast<std::int64_t>(count));
          hvd::autograd::narrow(block, to + at, count);
        }
      });
    } else {
      parallel_for({.count = n, .multiple = kBlock},
                   [&](std::int64_t begin, std::int64_t end) {
                     mask.apply(from + begin, to + begin, begin, end - begin);
                   });
    }
  });
  return out;
}

// y = m x, with a drawn mask m:  dx = m dy, with m drawn again
Tensor masked_and_recorded(const Tensor& x,
                           const std::shared_ptr<const DropoutMask>& mask) {
  Tensor out = result_of("dropout", [&] { return masked(x, *mask); });
  if (needs_grad(x)) {
    record(out, "DropoutBackward", x,
           [mask](Tensor& dy) { return masked_and_recorded(dy, mask); });
  }
  return out;
}

void check_probability(double p, const char* operation) {
  if (!(p >= 0.0 && p <= 1.0)) {
    throw InvalidArgument(
        absl::StrCat(operation, ": ", p, " is no probability"));
  }
}

// Writes the result of `draw`, with x's shape and dtype, to x. Only the drawing
// is unrecorded: the old values of x get no gradient.
template <typename Draw>
void fill_from(const Tensor& x, Draw draw) {
  Tensor drawn;
  {
    NoGrad no_grad;
    drawn = draw();
  }
  x.copy_(drawn);
}

}  // namespace

DropoutMask::DropoutMask(Generator& generator, std::int64_t count, double p)
    : start_(generator.state()),
      threshold_(static_cast<std::uint64_t>(std::llround((1.0 - p) * 0x1p32))),
      scale_(p == 1.0 ? 0.0 : 1.0 / (1.0 - p)) {
  const std::int64_t tiles = (count + kTile - 1) / kTile;
  const std::int64_t blocks = tiles * (kTile / kElementsPerBlock);
  generator.set_state(
      {start_.seed, start_.offset + static_cast<std::uint64_t>(blocks)});
}

void DropoutMask::apply(const float* x, float* out, std::int64_t first,
                        std::int64_t n) const {
  const Generator::State at{
      start_.seed,
      start_.offset + static_cast<std::uint64_t>(first / kElementsPerBlock)};
  apply_mask({at, threshold_, static_cast<float>(scale_)}, x, out,
             static_cast<std::size_t>(n));
}

void DropoutMask::apply(const double* x, double* out, std::int64_t first,
                        std::int64_t n) const {
  float kept[kBlock];
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    std::fill_n(kept, count, 1.0f);
    apply(kept, kept, first + at, count);
    for (std::int64_t i = 0; i < count; ++i) {
      out[at + i] = kept[i] == 0.0f ? 0.0 : x[at + i] * scale_;
    }
  }
}

}  // namespace autograd

Tensor dropout(const Tensor& x, double p, bool training) {
  autograd::check_defined(x, "dropout");
  autograd::check_probability(p, "dropout");
  if (!training || p == 0.0 || x.num_elements() == 0) return x;
  return autograd::masked_and_recorded(
      x, std::make_shared<const autograd::DropoutMask>(
             autograd::default_generator(), x.num_elements(), p));
}

Tensor drop_path(const Tensor& x, double p, bool training) {
  autograd::check_defined(x, "drop_path");
  autograd::check_probability(p, "drop_path");
  if (!training || p == 0.0) return x;
  autograd::Dims shape = x.shape();
  for (std::size_t d = 1; d < shape.size(); ++d) shape[d] = 1;
  return mul(x, dropout(ones(shape, {.dtype = x.dtype()}), p));
}

namespace autograd {

void uniform_(const Tensor& x, double low, double high) {
  check_defined(x, "uniform_");
  fill_from(x, [&] {
    return rand(x.shape(), {.dtype = x.dtype()}) * (high - low) + low;
  });
}

void normal_(const Tensor& x, double mean, double deviation) {
  check_defined(x, "normal_");
  fill_from(x, [&] {
    return randn(x.shape(), {.dtype = x.dtype()}) * deviation + mean;
  });
}

void bernoulli_(const Tensor& x, double probability) {
  check_defined(x, "bernoulli_");
  fill_from(x, [&] {
    return bernoulli(x.shape(), probability, {.dtype = x.dtype()});
  });
}

}  // namespace autograd
}  // namespace hvd
