// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/api.h"

#include "horovodpp/core/status.h"
#include "horovodpp/device/shared_library.h"

namespace hvd::collective {
namespace {

template <typename Function>
absl::Status find_in(const device::SharedLibrary& library, const char* name,
                     Function*& function) {
  HVD_ASSIGN_OR_RETURN(void* const address, library.find(name));
  function = reinterpret_cast<Function*>(address);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NcclApi> NcclApi::load(const std::string& file) {
  HVD_ASSIGN_OR_RETURN(const device::SharedLibrary library,
                       device::SharedLibrary::load(file));
  NcclApi api;
#define HVD_FILL(name, ...) \
  HVD_RETURN_IF_ERROR(find_in(library, #name, api.name));
  HVD_NCCL_FUNCTIONS(HVD_FILL)
#undef HVD_FILL
#define HVD_FILL_IF_THERE(since, name, ...) \
  find_in(library, #name, api.name).IgnoreError();
  HVD_NCCL_LATER_FUNCTIONS(HVD_FILL_IF_THERE)
#undef HVD_FILL_IF_THERE
  return api;
}

void NcclApi::keep_up_to(int version) {
#define HVD_KEEP(since, name, ...) \
  if (version < (since)) name = nullptr;
  HVD_NCCL_LATER_FUNCTIONS(HVD_KEEP)
#undef HVD_KEEP
}

}  // namespace hvd::collective
