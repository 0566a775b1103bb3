// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/dlpack_type.h"
#include "horovodpp/device/tensors/tensor_gpu.h"
#include "horovodpp/tensor/base/stream_scope.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

constexpr std::int32_t kCpu = 1;
constexpr std::int32_t kCuda = 2;
constexpr std::int32_t kPinned = 3;

DLDataType to_dl(DType dtype) {
  const DlpackType type = dlpack_type(dtype);
  return {.code = type.code, .bits = type.bits, .lanes = type.lanes};
}

std::optional<DType> from_dl(const DLDataType& type) {
  return dtype_of_dlpack({type.code, type.bits, type.lanes});
}

struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  void* stream = nullptr;  // The receiver's.
  std::array<std::int64_t, autograd::Dims::kMax> shape{};
  std::array<std::int64_t, autograd::Dims::kMax> strides{};
};

DLDevice to_dl(Device device) {
  return {.device_type = device.is_cpu() ? kCpu : kCuda,
          .device_id = device.index};
}

Device from_dl(const DLDevice& device) {
  return device.device_type == kCuda ? Device::cuda(device.device_id)
                                     : Device::cpu();
}

// A deleter has nobody to tell of a driver's error.
void take_back(Exported* exported) noexcept {
  const std::unique_ptr<Exported> gone(exported);
  const Tensor& x = gone->tensor;
  if (x.device().is_cpu()) return;
  try {
    device::TensorGpu::of(x.device().index).note_use(x.address(), gone->stream);
  } catch (const Error&) {
  }
}

// Puts the receiver's stream behind the work on `x`.
void hand_over(const Tensor& x, void* stream) {
  if (x.device().is_cpu()) return;
  auto& gpu = device::TensorGpu::of(x.device().index);
  void* const own = StreamScope::current(x.device());
  if (own != stream) gpu.order_behind(own, stream);
}

void check(const DLTensor& from) {
  const bool fits =
      from.ndim >= 0 && from.ndim <= static_cast<int>(autograd::Dims::kMax);
  const std::int32_t type = from.device.device_type;
  if (type != kCpu && type != kCuda && type != kPinned) {
    throw InvalidArgument(
        absl::StrCat("from_dlpack: device ", type,
                     " is neither the CPU (1, or 3 with pinned memory) nor a "
                     "GPU of CUDA (2)"));
  }
  if (!from_dl(from.dtype)) {
    throw InvalidArgument(absl::StrCat(
        "from_dlpack: there is no dtype of code ", from.dtype.code, ", ",
        from.dtype.bits, " bits and ", from.dtype.lanes, " lanes"));
  }
  if (!fits) {
    throw InvalidArgument(
        absl::StrCat("from_dlpack: ", from.ndim, " dimensions are too many"));
  }
  for (int d = 0; d < from.ndim; ++d) {
    if (from.shape[d] < 0 || (from.strides != nullptr && from.strides[d] < 0)) {
      throw InvalidArgument(absl::StrCat("from_dlpack: dimension ", d,
                                         " has a negative size or stride"));
    }
  }
}

autograd::Dims dims(const std::int64_t* values, int count) {
  return autograd::Dims(
      std::span<const std::int64_t>(values, static_cast<std::size_t>(count)));
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& x, void* stream) {
  autograd::check_defined(x, "to_dlpack");
  if (x.requires_grad()) {
    throw InvalidArgument(
        "to_dlpack: the tensor requires grad, of which the receiver would know "
        "nothing; pass its detach()");
  }
  auto exported = std::make_unique<Exported>();
  hand_over(x, stream);
  exported->tensor = x;
  exported->stream = stream;
  std::copy(x.shape().begin(), x.shape().end(), exported->shape.begin());
  std::copy(x.strides().begin(), x.strides().end(), exported->strides.begin());
  exported->managed.dl_tensor = {.data = x.address(),
                                 .device = to_dl(x.device()),
                                 .ndim = static_cast<std::int32_t>(x.dim()),
                                 .dtype = to_dl(x.dtype()),
                                 .shape = exported->shape.data(),
                                 .strides = exported->strides.data()};
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    take_back(static_cast<Exported*>(self->manager_ctx));
  };
  return &exported.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) {
    throw InvalidArgument("from_dlpack: there is no tensor");
  }
  const DLTensor& from = managed->dl_tensor;
  check(from);
  const DType dtype = *from_dl(from.dtype);
  const autograd::Dims shape = dims(from.shape, from.ndim);
  const autograd::Dims strides = from.strides == nullptr
                                     ? autograd::contiguous_strides(shape)
                                     : dims(from.strides, from.ndim);
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    last += std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
  }
  auto* data = static_cast<std::byte*>(from.data) + from.byte_offset;
  auto storage = autograd::Storage::borrow(
      data, static_cast<std::size_t>(last + 1) * size_of(dtype),
      from_dl(from.device), [managed](void*) {
        if (managed->deleter != nullptr) managed->deleter(managed);
      });
  return Tensor(autograd::Ref<autograd::TensorImpl>::adopt(
      new autograd::TensorImpl(std::move(storage), dtype, shape, strides, 0)));
}

}  // namespace hvd
