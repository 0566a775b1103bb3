// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/images/pools.h"

#include "horovodpp/nn/images/by_dims.h"

namespace hvd::nn {
template <typename Size>
Tensor MaxPool<Size>::forward(const Tensor& input) {
  return by_dims<Size>(max_pool1d, max_pool2d, max_pool3d)(input, options_);
}
template <typename Size>
MaxResult MaxPool<Size>::run(const Tensor& input) const {
  return by_dims<Size>(max_pool1d_with_indices, max_pool2d_with_indices,
                       max_pool3d_with_indices)(input, options_);
}

template <typename Size>
Tensor FractionalMaxPool<Size>::forward(const Tensor& input) {
  return run(input).values;
}
template <typename Size>
MaxResult FractionalMaxPool<Size>::run(const Tensor& input) const {
  return by_dims<Size>(nullptr, fractional_max_pool2d_with_indices,
                       fractional_max_pool3d_with_indices)(input, options_);
}

template <typename Size>
Tensor AvgPool<Size>::forward(const Tensor& input) {
  return by_dims<Size>(avg_pool1d, avg_pool2d, avg_pool3d)(input, options_);
}

template <typename Size>
Tensor AdaptiveMaxPool<Size>::forward(const Tensor& input) {
  return by_dims<Size>(adaptive_max_pool1d, adaptive_max_pool2d,
                       adaptive_max_pool3d)(input, size_);
}
template <typename Size>
MaxResult AdaptiveMaxPool<Size>::run(const Tensor& input) const {
  return by_dims<Size>(adaptive_max_pool1d_with_indices,
                       adaptive_max_pool2d_with_indices,
                       adaptive_max_pool3d_with_indices)(input, size_);
}

template <typename Size>
Tensor AdaptiveAvgPool<Size>::forward(const Tensor& input) {
  return by_dims<Size>(adaptive_avg_pool1d, adaptive_avg_pool2d,
                       adaptive_avg_pool3d)(input, size_);
}

template <typename Size>
Tensor LPPool<Size>::forward(const Tensor& input) {
  return by_dims<Size>(lp_pool1d, lp_pool2d, lp_pool3d)(input, options_);
}

template <typename Size>
Tensor MaxUnpool<Size>::operator()(const Tensor& x, const Tensor& indices,
                                   Size output_size) const {
  MaxUnpoolOptions<Size> options = options_;
  if (output_size != Size(0)) options.output_size = output_size;
  return by_dims<Size>(max_unpool1d, max_unpool2d, max_unpool3d)(x, indices,
                                                                 options);
}

template class MaxPool<std::int64_t>;
template class MaxPool<Pair>;
template class MaxPool<Triple>;
template class FractionalMaxPool<Pair>;
template class FractionalMaxPool<Triple>;
template class AvgPool<std::int64_t>;
template class AvgPool<Pair>;
template class AvgPool<Triple>;
template class AdaptiveMaxPool<std::int64_t>;
template class AdaptiveMaxPool<Pair>;
template class AdaptiveMaxPool<Triple>;
template class AdaptiveAvgPool<std::int64_t>;
template class AdaptiveAvgPool<Pair>;
template class AdaptiveAvgPool<Triple>;
template class LPPool<std::int64_t>;
template class LPPool<Pair>;
template class LPPool<Triple>;
template class MaxUnpool<std::int64_t>;
template class MaxUnpool<Pair>;
template class MaxUnpool<Triple>;

}  // namespace hvd::nn
