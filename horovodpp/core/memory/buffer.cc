// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/buffer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/buffer_pool.h"
#include "horovodpp/core/status.h"

namespace hvd {

StatusOr<Buffer> Buffer::allocate(DType dtype, Shape shape) {
  HVD_ASSIGN_OR_RETURN(Buffer buffer, over(nullptr, dtype, std::move(shape)));
  if (buffer.bytes() == 0) return buffer;
  if (buffer.bytes() > std::size_t{1} << 62) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", buffer.view_.to_string()));
  }
  buffer.memory_ = pooled_memory(buffer.bytes());
  if (buffer.memory_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", buffer.view_.to_string()));
  }
  buffer.view_ = TensorView(buffer.memory_.get(), dtype, buffer.view_.shape());
  return buffer;
}

StatusOr<Buffer> Buffer::over(std::shared_ptr<std::byte> memory, DType dtype,
                              Shape shape, Device device) {
  HVD_RETURN_IF_ERROR(shape.checked(size_of(dtype)));
  Buffer buffer;
  buffer.memory_ = std::move(memory);
  buffer.view_ =
      TensorView(buffer.memory_.get(), dtype, std::move(shape), device);
  return buffer;
}

StatusOr<Buffer> Buffer::copy_of(const ConstTensorView& source) {
  if (!source.device().is_cpu()) {
    return absl::UnimplementedError(absl::StrCat(
        "cannot copy from ", source.device().to_string(), " to the CPU"));
  }
  HVD_ASSIGN_OR_RETURN(Buffer buffer, allocate(source.dtype(), source.shape()));
  if (buffer.bytes() > 0) {
    std::memcpy(buffer.view_.data(), source.data(), buffer.bytes());
  }
  return buffer;
}

}  // namespace hvd
