// SPDX-License-Identifier: Apache-2.0
// A CudaModule is a set of compiled kernels, loaded on one GPU.
//
//   HVD_ASSIGN_OR_RETURN(auto module, CudaModule::load(context, images, names));
//   HVD_RETURN_IF_ERROR(module->launch("hvd_copy", blocks, &arguments, stream));
//
// Immutable, thread-safe; errors are Internal, with the driver's words.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {

class CudaModule {
 public:
  // Loads the first of `images` that the driver accepts, and its kernels
  // `names`, which outlive the module.
  //   Internal  the driver accepts no image, or there is no such kernel
  static absl::StatusOr<std::unique_ptr<CudaModule>> load(
      const CudaContext& context, const std::vector<const void*>& images,
      const std::vector<const char*>& names);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  // Enqueues a kernel with blocks of kernels::kThreads threads. `arguments` is
  // the address of its only parameter.
  absl::Status launch(std::string_view name, unsigned blocks, void* arguments,
                      CuStream stream) const;

 private:
  CudaModule(const CudaContext& context, CuModule module)
      : context_(context), module_(module) {}
  absl::Status find(const char* name);

  const CudaContext context_;
  const CuModule module_;
  std::map<std::string_view, CuFunction> functions_;
};

}  // namespace hvd::device
