// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/arguments.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/c/call.h"
#include "horovodpp/core/status.h"

namespace hvd::c {

absl::Status wrong_size(std::size_t given, std::size_t known) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the options are said to be ", given, " bytes long, and this library (",
      hvd_version(), ") knows ", known,
      ": begin them with their macro, and compile with the headers of the "
      "library"));
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

absl::StatusOr<ReduceOp> op_of(std::int32_t number) {
  if (number >= 0 && number <= UINT8_MAX) {
    const auto op = reduce_op_from_wire(static_cast<std::uint8_t>(number));
    if (op) return *op;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no reduction with number ", number));
}

absl::StatusOr<DType> dtype_of_number(std::int32_t number) {
  if (number >= HVD_UINT8 && number <= HVD_BOOL) {
    return static_cast<DType>(number);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no dtype with number ", number));
}

absl::StatusOr<Device> device_of_number(std::int32_t number) {
  if (number == HVD_CPU) return Device::cpu();
  if (number >= HVD_CUDA(0)) return Device::cuda(number - HVD_CUDA(0));
  return absl::InvalidArgumentError(
      absl::StrCat("there is no device with number ", number));
}

std::int16_t number_of(Device device) {
  return static_cast<std::int16_t>(device.is_cpu() ? HVD_CPU
                                                   : HVD_CUDA(device.index));
}

absl::StatusOr<TensorView> view_of(const hvd_tensor& tensor) {
  HVD_ASSIGN_OR_RETURN(const DType dtype, dtype_of_number(tensor.dtype));
  HVD_ASSIGN_OR_RETURN(const Device device, device_of_number(tensor.device));
  if (tensor.num_dims < 0 || tensor.num_dims > kMaxDims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor has 0 to ", kMaxDims, " dimensions, not ", tensor.num_dims));
  }
  if (tensor.num_dims > 0) {
    HVD_RETURN_IF_ERROR(check_not_null(tensor.dims, "dims"));
  }
  Shape shape(IntSpan(tensor.dims, static_cast<std::size_t>(tensor.num_dims)));
  HVD_RETURN_IF_ERROR(shape.checked(size_of(dtype)));
  if (shape.num_elements() > 0) {
    HVD_RETURN_IF_ERROR(check_not_null(tensor.data, "data"));
  }
  return TensorView(tensor.data, dtype, std::move(shape), device);
}

absl::StatusOr<TensorView> flat_view(void* data, std::int64_t elements,
                                     std::int32_t dtype) {
  // Check it before the conversion to the narrower dtype of a tensor.
  HVD_RETURN_IF_ERROR(dtype_of_number(dtype).status());
  return view_of(
      {data, &elements, 1, static_cast<std::int16_t>(dtype), HVD_CPU});
}

absl::StatusOr<std::vector<TensorView>> views_of(const hvd_tensor* tensors,
                                                 std::size_t count) {
  HVD_RETURN_IF_ERROR(check_not_null(tensors, "tensors"));
  if (count == 0) {
    return absl::InvalidArgumentError("no tensor was given");
  }
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < count; ++i) {
    HVD_ASSIGN_OR_RETURN(TensorView view, view_of(tensors[i]));
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace hvd::c
