// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/factories.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/fill.h"
#include "horovodpp/tensor/base/device_allocator.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/gpu/gpu_elements.h"
#include "horovodpp/tensor/gpu/transfer.h"
#include "horovodpp/tensor/gradient_home.h"

namespace hvd {
namespace {

using autograd::Dims;

using autograd::Allocator;

// `tensor`, which is on the CPU, where the options want it.
Tensor with_options(Tensor tensor, const TensorOptions& options) {
  if (!options.device.is_cpu()) {
    const Tensor there = empty(
        tensor.shape(), {.dtype = tensor.dtype(), .device = options.device});
    autograd::transfer({there.address(), there.device()},
                       {tensor.address(), tensor.device()}, tensor.bytes());
    tensor = there;
  }
  if (options.requires_grad) tensor.set_requires_grad(true);
  return tensor;
}

// Options for the CPU's tensor from which with_options() makes the result.
TensorOptions on_cpu(const TensorOptions& options) {
  return {.dtype = options.dtype, .pinned = options.pinned};
}

Tensor allocate(const Dims& shape, const Dims& strides, DType dtype,
                Allocator& memory) {
  const std::size_t element = size_of(dtype);
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) {
      autograd::throw_bad_shape(shape, element);
    }
  }
  if (count > INT64_MAX / static_cast<std::int64_t>(element)) {
    autograd::throw_bad_shape(shape, element);
  }
  if (autograd::thread_state.expected_gradients != nullptr &&
      !is_grad_enabled() && memory.device().is_cpu()) {
    Tensor made =
        autograd::thread_state.expected_gradients->make(shape, strides, dtype);
    if (made.defined()) return made;
  }
  auto storage = autograd::Storage::allocate(
      static_cast<std::size_t>(count) * element, memory);
  return Tensor(autograd::Ref<autograd::TensorImpl>::adopt(
      new autograd::TensorImpl(std::move(storage), dtype, shape, strides, 0)));
}

template <typename T>
std::span<T> elements(const Tensor& tensor) {
  return {tensor.data<T>(), static_cast<std::size_t>(tensor.num_elements())};
}

// Calls `draw(generator, span)` on the elements of a new tensor.
template <typename Draw>
Tensor random(const Dims& shape, const TensorOptions& options,
              const char* operation, Draw draw) {
  Tensor tensor = empty(shape, on_cpu(options));
  autograd::Generator& generator = autograd::default_generator();
  if (options.dtype == DType::kF32) {
    draw(generator, elements<float>(tensor));
  } else if (options.dtype == DType::kF64) {
    draw(generator, elements<double>(tensor));
  } else {
    throw InvalidArgument(absl::StrCat(operation,
                                       ": makes float32 and float64, not ",
                                       name_of(options.dtype)));
  }
  return with_options(std::move(tensor), options);
}

}  // namespace

namespace autograd {

void check_held(double value, DType dtype, const char* operation) {
  visit(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      // The largest int64 is no double; the next double is out of range.
      const bool held =
          value < 0x1p63 && static_cast<double>(scalar_to<T>(value)) == value;
      if (held) return;
      throw InvalidArgument(absl::StrCat(
          operation, ": ", name_of(dtype), " does not hold ", value,
          "; convert the tensor to a dtype that does, or round the number"));
    }
  });
}

void fill_there(const Tensor& out, double value) {
  std::uint64_t bits = 0;
  visit(out.dtype(), [&]<typename T>(TypeTag<T>) {
    const T element = scalar_to<T>(value);
    std::memcpy(&bits, &element, sizeof element);
  });
  fill_on_gpu({.device = out.device(),
               .shape = out.shape(),
               .out = {out.address(), out.dtype(), out.strides()},
               .x = {},
               .y = nullptr},
              bits);
}

Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype,
                     Device device) {
  return allocate(shape, strides, dtype, allocator_of(device));
}

}  // namespace autograd

Tensor empty(const Dims& shape, const TensorOptions& options) {
  if (options.pinned && !options.device.is_cpu()) [[unlikely]] {
    throw InvalidArgument(
        "pinned memory is the CPU's: set .device or .pinned, not both");
  }
  Allocator& memory = options.pinned ? autograd::pinned_allocator()
                                     : autograd::allocator_of(options.device);
  Tensor made = allocate(shape, autograd::contiguous_strides(shape),
                         options.dtype, memory);
  if (options.requires_grad) made.set_requires_grad(true);
  return made;
}

Tensor zeros(const Dims& shape, const TensorOptions& options) {
  if (!options.device.is_cpu()) return full(shape, 0.0, options);
  Tensor tensor = empty(shape, on_cpu(options));
  autograd::fill(static_cast<std::uint8_t*>(tensor.raw_data()),
                 static_cast<std::int64_t>(tensor.bytes()), std::uint8_t{0});
  return with_options(std::move(tensor), options);
}

Tensor ones(const Dims& shape, const TensorOptions& options) {
  return full(shape, 1.0, options);
}

Tensor full(const Dims& shape, double value, const TensorOptions& options) {
  autograd::check_held(value, options.dtype, "full");
  if (!options.device.is_cpu()) {
    Tensor filled = empty(shape, options);
    autograd::fill_there(filled, value);
    return filled;
  }
  Tensor tensor = empty(shape, on_cpu(options));
  visit(options.dtype, [&]<typename T>(TypeTag<T>) {
    autograd::fill(tensor.data<T>(), tensor.num_elements(),
                   autograd::scalar_to<T>(value));
  });
  return with_options(std::move(tensor), options);
}

Tensor empty_like(const Tensor& like) {
  const Dims& shape = like.shape();
  return allocate(shape,
                  like.is_contiguous()
                      ? autograd::contiguous_strides(shape)
                      : autograd::strides_like(shape, like.strides()),
                  like.dtype(), autograd::allocator_of(like.device()));
}

Tensor zeros_like(const Tensor& like) {
  return zeros(like.shape(), {.dtype = like.dtype(), .device = like.device()});
}

Tensor ones_like(const Tensor& like) {
  return ones(like.shape(), {.dtype = like.dtype(), .device = like.device()});
}

Tensor arange(double start, double end, double step,
              const TensorOptions& options) {
  const double count = std::ceil((end - start) / step);
  if (!(step != 0.0 && count >= 0.0 && count < 0x1p62)) {
    throw InvalidArgument(absl::StrCat("arange: from ", start, " to ", end,
                                       " does not go in steps of ", step));
  }
  // If the first, second and last values fit, all values fit.
  for (const double i : {0.0, std::min(1.0, count - 1), count - 1}) {
    if (i < 0 || i >= count) continue;
    autograd::check_held(start + step * i, options.dtype, "arange");
  }
  Tensor tensor = empty({static_cast<std::int64_t>(count)}, on_cpu(options));
  visit(options.dtype, [&]<typename T>(TypeTag<T>) {
    double index = 0;
    for (T& element : elements<T>(tensor)) {
      element = autograd::scalar_to<T>(start + step * index);
      ++index;
    }
  });
  return with_options(std::move(tensor), options);
}

Tensor rand(const Dims& shape, const TensorOptions& options) {
  return random(shape, options, "rand",
                [](auto& generator, auto out) { generator.uniform(out); });
}

Tensor randn(const Dims& shape, const TensorOptions& options) {
  return random(shape, options, "randn",
                [](auto& generator, auto out) { generator.normal(out); });
}

Tensor bernoulli(const Dims& shape, double probability,
                 const TensorOptions& options) {
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw InvalidArgument(
        absl::StrCat("bernoulli: ", probability, " is no probability"));
  }
  Tensor flags = empty(shape, {.dtype = DType::kBool});
  autograd::default_generator().bernoulli(probability, elements<bool>(flags));
  return with_options(flags.to(options.dtype), options);
}

Tensor randperm(std::int64_t n) {
  Tensor tensor = empty({n}, {.dtype = DType::kI64});
  autograd::default_generator().permutation(elements<std::int64_t>(tensor));
  return tensor;
}

Tensor from_blob(void* data, const Dims& shape, DType dtype,
                 std::function<void(void*)> release) {
  if (auto status = shape.to_shape().checked(size_of(dtype)); !status.ok()) {
    throw InvalidArgument(
        absl::StrCat("from_blob: ", std::string(status.message())));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if ((data == nullptr && shape.product() != 0) ||
      address % size_of(dtype) != 0) {
    throw InvalidArgument(absl::StrCat(
        "from_blob: wanted is memory for ", name_of(dtype), shape.to_string(),
        ", aligned for that, but it is at ", address));
  }
  auto storage = autograd::Storage::borrow(
      data, static_cast<std::size_t>(shape.product()) * size_of(dtype),
      Device::cpu(), std::move(release));
  return Tensor(autograd::Ref<autograd::TensorImpl>::adopt(
      new autograd::TensorImpl(std::move(storage), dtype, shape,
                               autograd::contiguous_strides(shape), 0)));
}

}  // namespace hvd
