// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_api.h"

#include "horovodpp/core/status.h"
#include "horovodpp/device/shared_library.h"

namespace hvd::device {
namespace {

template <typename Function>
absl::Status fill(const SharedLibrary& library, const char* name,
                  Function*& function) {
  HVD_ASSIGN_OR_RETURN(void* const address, library.find(name));
  function = reinterpret_cast<Function*>(address);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudaApi> CudaApi::load(const std::string& file) {
  HVD_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::load(file));
  CudaApi api;
#define HVD_FILL(name, ...) HVD_RETURN_IF_ERROR(fill(library, #name, api.name));
  HVD_CUDA_FUNCTIONS(HVD_FILL)
#undef HVD_FILL
  return api;
}

}  // namespace hvd::device
