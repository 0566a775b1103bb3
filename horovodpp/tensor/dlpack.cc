// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/dlpack_type.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

constexpr std::int32_t kCpu = 1;

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
  std::array<std::int64_t, autograd::Dims::kMax> shape{};
  std::array<std::int64_t, autograd::Dims::kMax> strides{};
};

void check(const DLTensor& from) {
  const bool fits =
      from.ndim >= 0 && from.ndim <= static_cast<int>(autograd::Dims::kMax);
  if (from.device.device_type != kCpu) {
    throw InvalidArgument(absl::StrCat("from_dlpack: device ",
                                       from.device.device_type,
                                       " is not the CPU (1)"));
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

DLManagedTensor* to_dlpack(const Tensor& x) {
  autograd::check_defined(x, "to_dlpack");
  if (x.requires_grad()) {
    throw InvalidArgument(
        "to_dlpack: the tensor requires grad, of which the receiver would know "
        "nothing; pass its detach()");
  }
  auto exported = std::make_unique<Exported>();
  exported->tensor = x;
  std::copy(x.shape().begin(), x.shape().end(), exported->shape.begin());
  std::copy(x.strides().begin(), x.strides().end(), exported->strides.begin());
  exported->managed.dl_tensor = {.data = x.raw_data(),
                                 .ndim = static_cast<std::int32_t>(x.dim()),
                                 .dtype = to_dl(x.dtype()),
                                 .shape = exported->shape.data(),
                                 .strides = exported->strides.data()};
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
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
      data, static_cast<std::size_t>(last + 1) * size_of(dtype), Device::cpu(),
      [managed](void*) {
        if (managed->deleter != nullptr) managed->deleter(managed);
      });
  return Tensor(autograd::Ref<autograd::TensorImpl>::adopt(
      new autograd::TensorImpl(std::move(storage), dtype, shape, strides, 0)));
}

}  // namespace hvd
