// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_module.h"

#include <string>

#include "horovodpp/core/status.h"
#include "horovodpp/device/kernels/arguments.h"

namespace hvd::device {

absl::StatusOr<std::unique_ptr<CudaModule>> CudaModule::load(
    const CudaContext& context, const std::vector<const void*>& images,
    const std::vector<const char*>& names) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  absl::Status refusal;
  for (const void* const image : images) {
    CuModule module = nullptr;
    refusal =
        status_of(*context.api, context.api->cuModuleLoadData(&module, image),
                  "cuModuleLoadData");
    if (!refusal.ok()) continue;
    std::unique_ptr<CudaModule> loaded(new CudaModule(context, module));
    for (const char* const name : names) {
      HVD_RETURN_IF_ERROR(loaded->find(name));
    }
    return loaded;
  }
  return refusal;
}

CudaModule::~CudaModule() {
  const CurrentContext current(context_);
  context_.api->cuModuleUnload(module_);
}

// Asking about a kernel loads it now. Otherwise a driver may load it at its
// first launch, and that waits for all work of the GPU.
absl::Status CudaModule::find(const char* name) {
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
}

absl::Status CudaModule::launch(std::string_view name, unsigned blocks,
                                void* arguments, CuStream stream) const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  void* parameters[] = {arguments};
  return annotate(
      status_of(*context_.api,
                context_.api->cuLaunchKernel(functions_.at(name), blocks, 1, 1,
                                             kernels::kThreads, 1, 1, 0, stream,
                                             parameters, nullptr),
                "cuLaunchKernel"),
      std::string(name));
}

}  // namespace hvd::device
