// SPDX-License-Identifier: Apache-2.0
// Pools of images [n, c, size] or [c, size] as modules; ops/images/images.h has
// the formulas. A size is a number, a Pair or a Triple.
//
//   hvd::nn::MaxPool2d pool({.kernel = 2});
//   hvd::Tensor y = pool(x);             // [n, c, 28, 28] -> [n, c, 14, 14]
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/sampling/fractional_pools.h"
#include "horovodpp/ops/sampling/unpools.h"

namespace HVD_EXPORT hvd {
namespace nn {

template <typename Size>
class MaxPool : public Module {
 public:
  explicit MaxPool(const MaxPoolOptions<Size>& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;
  // With the indices that MaxUnpool takes.
  MaxResult run(const Tensor& input) const;

 private:
  const MaxPoolOptions<Size> options_;
};
using MaxPool1d = MaxPool<std::int64_t>;
using MaxPool2d = MaxPool<Pair>;
using MaxPool3d = MaxPool<Triple>;

template <typename Size>
class FractionalMaxPool : public Module {
 public:
  explicit FractionalMaxPool(const FractionalMaxPoolOptions<Size>& options)
      : options_(options) {}
  Tensor forward(const Tensor& input) override;
  // With the indices.
  MaxResult run(const Tensor& input) const;

 private:
  const FractionalMaxPoolOptions<Size> options_;
};
using FractionalMaxPool2d = FractionalMaxPool<Pair>;
using FractionalMaxPool3d = FractionalMaxPool<Triple>;

template <typename Size>
class AvgPool : public Module {
 public:
  explicit AvgPool(const AvgPoolOptions<Size>& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  const AvgPoolOptions<Size> options_;
};
using AvgPool1d = AvgPool<std::int64_t>;
using AvgPool2d = AvgPool<Pair>;
using AvgPool3d = AvgPool<Triple>;

template <typename Size>
class AdaptiveMaxPool : public Module {
 public:
  explicit AdaptiveMaxPool(Size size) : size_(size) {}
  Tensor forward(const Tensor& input) override;
  // With the indices.
  MaxResult run(const Tensor& input) const;

 private:
  const Size size_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<std::int64_t>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<Pair>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<Triple>;

template <typename Size>
class AdaptiveAvgPool : public Module {
 public:
  explicit AdaptiveAvgPool(Size size) : size_(size) {}
  Tensor forward(const Tensor& input) override;

 private:
  const Size size_;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<std::int64_t>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<Pair>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<Triple>;

template <typename Size>
class LPPool : public Module {
 public:
  explicit LPPool(const LPPoolOptions<Size>& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;

 private:
  const LPPoolOptions<Size> options_;
};
using LPPool1d = LPPool<std::int64_t>;
using LPPool2d = LPPool<Pair>;
using LPPool3d = LPPool<Triple>;

// A function object, because it takes two tensors.
template <typename Size>
class MaxUnpool {
 public:
  explicit MaxUnpool(const MaxUnpoolOptions<Size>& options)
      : options_(options) {}
  // `indices` are those of MaxPool::run(); the size is that of the options
  // unless given.
  Tensor operator()(const Tensor& x, const Tensor& indices,
                    Size output_size = 0) const;

 private:
  MaxUnpoolOptions<Size> options_;
};
using MaxUnpool1d = MaxUnpool<std::int64_t>;
using MaxUnpool2d = MaxUnpool<Pair>;
using MaxUnpool3d = MaxUnpool<Triple>;

extern template class MaxPool<std::int64_t>;
extern template class MaxPool<Pair>;
extern template class MaxPool<Triple>;
extern template class FractionalMaxPool<Pair>;
extern template class FractionalMaxPool<Triple>;
extern template class AvgPool<std::int64_t>;
extern template class AvgPool<Pair>;
extern template class AvgPool<Triple>;
extern template class AdaptiveMaxPool<std::int64_t>;
extern template class AdaptiveMaxPool<Pair>;
extern template class AdaptiveMaxPool<Triple>;
extern template class AdaptiveAvgPool<std::int64_t>;
extern template class AdaptiveAvgPool<Pair>;
extern template class AdaptiveAvgPool<Triple>;
extern template class LPPool<std::int64_t>;
extern template class LPPool<Pair>;
extern template class LPPool<Triple>;
extern template class MaxUnpool<std::int64_t>;
extern template class MaxUnpool<Pair>;
extern template class MaxUnpool<Triple>;

}  // namespace nn
}  // namespace hvd
