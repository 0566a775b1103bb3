// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/api.h"

#include "absl/strings/str_cat.h"
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

std::string nccl_version_text(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

absl::Status status_of(const NcclApi& api, NcclResult result, const char* call,
                       NcclComm comm) {
  if (result == kNcclSuccess) return absl::OkStatus();
  const char* const text = api.ncclGetErrorString(result);
  const char* const last = api.ncclGetLastError(comm);
  std::string message = absl::StrCat(call, ": ", text == nullptr ? "" : text);
  if (last != nullptr && *last != '\0') absl::StrAppend(&message, ": ", last);
  return absl::InternalError(message);
}

NcclLibrary::Loaded NcclLibrary::load(const std::string& file) {
  Loaded loaded;
  absl::StatusOr<NcclApi> api = NcclApi::load(file);
  if (!api.ok()) {
    loaded.status = absl::NotFoundError(absl::StrCat(
        "there is no NCCL: ", api.status().message(),
        ". The package libnccl2 brings it, or pip install nvidia-nccl-cu13 (or "
        "-cu12), whose file HOROVODPP_NCCL_LIBRARY may name"));
    return loaded;
  }
  loaded.api = *api;
  loaded.status =
      status_of(*api, api->ncclGetVersion(&loaded.version), "ncclGetVersion");
  if (loaded.status.ok() && loaded.version < kOldestVersion) {
    loaded.status = absl::FailedPreconditionError(
        absl::StrCat(file, " is NCCL ", nccl_version_text(loaded.version),
                     ", and at least ", nccl_version_text(kOldestVersion),
                     " is needed; update the package that it is from"));
  }
  loaded.api.keep_up_to(loaded.version);
  return loaded;
}

const NcclLibrary::Loaded& NcclLibrary::loaded() {
  const MutexLock lock(mutex_);
  if (loaded_ == nullptr) loaded_ = std::make_unique<const Loaded>(load(file_));
  return *loaded_;
}

absl::StatusOr<const NcclApi*> NcclLibrary::api() {
  const Loaded& all = loaded();
  HVD_RETURN_IF_ERROR(all.status);
  return &all.api;
}

int NcclLibrary::version() { return loaded().version; }

}  // namespace hvd::collective
