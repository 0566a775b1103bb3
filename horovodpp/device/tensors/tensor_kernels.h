// SPDX-License-Identifier: Apache-2.0
// The TensorKernels are the kernels on elements of tensors of one GPU
// (device/kernels/tensors.cu).
//
//   HVD_ASSIGN_OR_RETURN(auto kernels, TensorKernels::load(context));
//   HVD_RETURN_IF_ERROR(kernels->launch("hvd_to", arguments, stream));
//
// Immutable, thread-safe; errors are Internal, with the driver's words.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_context.h"
#include "horovodpp/device/cuda_module.h"
#include "horovodpp/device/kernels/tensor_arguments.h"

namespace hvd::device {

class TensorKernels {
 public:
  //   Internal  the driver accepts no image; says why
  static absl::StatusOr<std::unique_ptr<TensorKernels>> load(
      const CudaContext& context);

  // Enqueues kernel `name`, one of tensor_names.h, unless there are no elements.
  absl::Status launch(std::string_view name,
                      const kernels::ElementsArguments& arguments,
                      CuStream stream) const;

 private:
  explicit TensorKernels(std::unique_ptr<CudaModule> module)
      : module_(std::move(module)) {}

  const std::unique_ptr<const CudaModule> module_;
};

}  // namespace hvd::device
