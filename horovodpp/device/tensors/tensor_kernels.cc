// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/tensor_kernels.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "horovodpp/core/status.h"
#include "horovodpp/device/kernels/arguments.h"
#include "horovodpp/device/kernels/images.h"
#include "horovodpp/device/kernels/tensor_names.h"

namespace hvd::device {
namespace {

// A thread takes several elements of a large tensor.
constexpr std::int64_t kElementsOfBlock = 4 * std::int64_t{kernels::kThreads};
constexpr std::int64_t kMostBlocksOfGrid = 65535;

}  // namespace

absl::StatusOr<std::unique_ptr<TensorKernels>> TensorKernels::load(
    const CudaContext& context) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  absl::Status refusal;
  for (const void* const image : kernels::tensor_images()) {
    CuModule module = nullptr;
    refusal =
        status_of(*context.api, context.api->cuModuleLoadData(&module, image),
                  "cuModuleLoadData");
    if (!refusal.ok()) continue;
    std::unique_ptr<TensorKernels> loaded(new TensorKernels(context, module));
    HVD_RETURN_IF_ERROR(loaded->find_all());
    return loaded;
  }
  return refusal;
}

TensorKernels::~TensorKernels() {
  const CurrentContext current(context_);
  context_.api->cuModuleUnload(module_);
}

absl::Status TensorKernels::find_all() {
  // Asking about a kernel loads it now, as in CudaKernels.
  const auto find = [&](const char* name) -> absl::Status {
    CuFunction& function = functions_[name];
    HVD_RETURN_IF_ERROR(
        status_of(*context_.api,
                  context_.api->cuModuleGetFunction(&function, module_, name),
                  "cuModuleGetFunction"));
    int registers = 0;
    return status_of(*context_.api,
                     context_.api->cuFuncGetAttribute(
                         &registers, kCuRegistersOfFunction, function),
                     "cuFuncGetAttribute");
  };
  HVD_RETURN_IF_ERROR(find("hvd_to"));
#define HVD_FIND(name, ...) HVD_RETURN_IF_ERROR(find(#name));
  HVD_APPLICATIONS(HVD_FIND)
  HVD_COMPARISONS(HVD_FIND)
  HVD_MOVES(HVD_FIND)
#undef HVD_FIND
  return absl::OkStatus();
}

absl::Status TensorKernels::launch(std::string_view name,
                                   const kernels::ElementsArguments& arguments,
                                   CuStream stream) const {
  if (arguments.count == 0) return absl::OkStatus();
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  kernels::ElementsArguments copy = arguments;
  void* parameters[] = {&copy};
  const auto blocks = static_cast<unsigned>(
      std::min(kMostBlocksOfGrid,
               (arguments.count + kElementsOfBlock - 1) / kElementsOfBlock));
  return annotate(
      status_of(*context_.api,
                context_.api->cuLaunchKernel(functions_.at(name), blocks, 1, 1,
                                             kernels::kThreads, 1, 1, 0, stream,
                                             parameters, nullptr),
                "cuLaunchKernel"),
      std::string(name));
}

}  // namespace hvd::device
