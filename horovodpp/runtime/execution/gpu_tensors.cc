// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/gpu_tensors.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"

namespace hvd::runtime {
namespace {

absl::StatusOr<device::CudaContext> context_of(const Device& device) {
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda,
                       device::Gpus::of_process().driver());
  return cuda->context(device.index);
}

}  // namespace

absl::Status check_gpu_tensor(const ConstTensorView& tensor) {
  const auto cuda = device::Gpus::of_process().driver();
  if (!cuda.ok()) {
    return absl::UnimplementedError(
        absl::StrCat("it is on ", tensor.device().to_string(), ", and ",
                     cuda.status().message()));
  }
  HVD_RETURN_IF_ERROR((*cuda)->context(tensor.device().index).status());
  if (tensor.bytes() == 0) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(const int index, (*cuda)->device_of(tensor.data()));
  if (index == tensor.device().index) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "it is said to be on ", tensor.device().to_string(),
      ", and its memory belongs to ", Device::cuda(index).to_string()));
}

absl::StatusOr<Buffer> allocate_result(DType dtype, Shape shape,
                                       const Device& device) {
  if (device.is_cpu()) return Buffer::allocate(dtype, std::move(shape));
  HVD_RETURN_IF_ERROR(shape.checked(size_of(dtype)));
  const TensorView result(nullptr, dtype, std::move(shape), device);
  HVD_ASSIGN_OR_RETURN(
      std::shared_ptr<std::byte> memory,
      device::Gpus::of_process().allocate(device.index, result.bytes()));
  return Buffer::over(std::move(memory), dtype, result.shape(), device);
}

absl::Status note_order(coordinator::Submission& submission) {
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context,
                       context_of(submission.request.device));
  auto* const stream = static_cast<device::CuStream>(submission.stream);
  HVD_ASSIGN_OR_RETURN(const bool captured,
                       device::is_captured(context, stream));
  // A repeated submission may have been captured or not the last time.
  if (captured != submission.request.captured) {
    submission.request.captured = captured;
    submission.repeats = coordinator::kNoId;
  }
  HVD_ASSIGN_OR_RETURN(device::CudaEvent event,
                       device::CudaEvent::after(context, stream));
  submission.after =
      std::make_shared<const device::CudaEvent>(std::move(event));
  return absl::OkStatus();
}

}  // namespace hvd::runtime
