// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/unpools.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// The smallest image with so many windows.
//   InvalidArgument  it has no pixels
Triple smallest_image(const Triple& windows, const PoolOptions& o,
                      const char* operation) {
  if (!is_sound(o.kernel, 1) || !is_sound(o.stride, 1) ||
      !is_sound(o.padding, 0)) {
    throw InvalidArgument(absl::StrCat(
        operation,
        ": kernel and stride must be positive, padding not negative, and all "
        "less than 2^31"));
  }
  return for_each_side([&](std::int64_t Triple::*side) {
    return (windows.*side - 1) * (o.stride.*side) - 2 * (o.padding.*side) +
           o.kernel.*side;
  });
}

Triple unpooled_size(const Triple& windows, const PoolOptions& o,
                     const Triple& wanted, const char* operation) {
  const Triple smallest = smallest_image(windows, o, operation);
  bool sound = true;
  const Triple size = for_each_side([&](std::int64_t Triple::*side) {
    const std::int64_t given = wanted.*side;
    const std::int64_t least = smallest.*side;
    const std::int64_t step = o.stride.*side;
    sound =
        sound && (given == 0 || (given > least - step && given < least + step));
    return given == 0 ? least : given;
  });
  if (!sound || !is_sound(size, 1)) {
    throw InvalidArgument(absl::StrCat(
        operation, ": the size [", size.depth, ",", size.height, ",",
        size.width, "] does not have the windows of an input of [",
        windows.depth, ",", windows.height, ",", windows.width,
        "]; wanted is less than a stride from [", smallest.depth, ",",
        smallest.height, ",", smallest.width, "]"));
  }
  return size;
}

template <typename Size>
Tensor unpooled(const char* operation, const Tensor& input,
                const Tensor& indices, const MaxUnpoolOptions<Size>& options) {
  const Tensor x = autocast_wider(input);
  const Images images(x, kDims<Size>, operation);
  if (!indices.defined() || indices.dtype() != DType::kI64 ||
      indices.shape() != x.shape()) {
    throw InvalidArgument(absl::StrCat(
        operation, ": indices ",
        indices.defined() ? indices.describe() : "undefined",
        " do not go with input ", x.describe(), "; wanted is int64, as large"));
  }
  const auto stride =
      options.stride == Size(0) ? options.kernel : options.stride;
  const PoolOptions o{in_3d(options.kernel, 1), in_3d(stride, 1),
                      in_3d(options.padding, 0), 1, false};
  const bool is_given = options.output_size != Size(0);
  const Triple size =
      unpooled_size(images.sizes(), o,
                    in_3d(options.output_size, is_given ? 1 : 0), operation);
  const Tensor& y = images.tensor();
  const Dims flat = {y.size(0), y.size(1), images.sizes().product()};
  const Tensor blank =
      zeros({flat[0], flat[1], size.product()}, {.dtype = x.dtype()});
  const Tensor wide =
      scatter(blank, 2, reshape(indices, flat), reshape(y, flat));
  return images.restored(
      reshape(wide, shape_of(flat[0], flat[1], size, images.dims())));
}

// The power of the sums that means of powers tell.
Tensor root_of_means(const Tensor& means, std::int64_t count, double power) {
  const Tensor positive = sign(means) * relu(abs(means));
  return pow(positive * static_cast<double>(count), 1.0 / power);
}

}  // namespace
}  // namespace autograd

Tensor max_unpool1d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool1dOptions& options) {
  return autograd::unpooled("max_unpool1d", x, indices, options);
}
Tensor max_unpool2d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool2dOptions& options) {
  return autograd::unpooled("max_unpool2d", x, indices, options);
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool3dOptions& options) {
  return autograd::unpooled("max_unpool3d", x, indices, options);
}

Tensor lp_pool1d(const Tensor& x, const LPPool1dOptions& o) {
  const Tensor means = avg_pool1d(
      pow(x, o.power),
      {.kernel = o.kernel, .stride = o.stride, .ceil_mode = o.ceil_mode});
  return autograd::root_of_means(means, o.kernel, o.power);
}
Tensor lp_pool2d(const Tensor& x, const LPPool2dOptions& o) {
  const Tensor means = avg_pool2d(
      pow(x, o.power),
      {.kernel = o.kernel, .stride = o.stride, .ceil_mode = o.ceil_mode});
  return autograd::root_of_means(means, autograd::in_3d(o.kernel, 1).product(),
                                 o.power);
}
Tensor lp_pool3d(const Tensor& x, const LPPool3dOptions& o) {
  const Tensor means = avg_pool3d(
      pow(x, o.power),
      {.kernel = o.kernel, .stride = o.stride, .ceil_mode = o.ceil_mode});
  return autograd::root_of_means(means, o.kernel.product(), o.power);
}

}  // namespace hvd
