// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_driver.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/at_exit.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {
namespace {

std::string text_of(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDriver>> CudaDriver::load(
    const std::string& file) {
  const absl::StatusOr<CudaApi> api = CudaApi::load(file);
  if (!api.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "there is no CUDA driver: ", api.status().message(),
        ". NVIDIA's driver brings it; in a container it comes from the host "
        "(docker run --gpus all)"));
  }
  int version = 0;
  HVD_RETURN_IF_ERROR(
      status_of(*api, api->cuDriverGetVersion(&version), "cuDriverGetVersion"));
  if (version < kOldestVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the CUDA driver is for CUDA ", text_of(version), ", and at least ",
        text_of(kOldestVersion), " is needed; update NVIDIA's driver"));
  }
  int devices = 0;
  CuResult result = api->cuInit(0);
  if (result == kCuSuccess) result = api->cuDeviceGetCount(&devices);
  if (result == kCuNoDevice || (result == kCuSuccess && devices == 0)) {
    return absl::FailedPreconditionError(
        "the CUDA driver finds no GPU; is CUDA_VISIBLE_DEVICES empty?");
  }
  HVD_RETURN_IF_ERROR(status_of(*api, result, "cuInit"));
  renew_exit_order();
  return std::unique_ptr<CudaDriver>(new CudaDriver(*api, version, devices));
}

CudaDriver::CudaDriver(const CudaApi& api, int version, int devices)
    : api_(api),
      version_(version),
      devices_(devices),
      contexts_(static_cast<std::size_t>(devices)) {}

CudaDriver::~CudaDriver() {
  const MutexLock lock(mutex_);
  for (auto& upkeep : upkeeps_) {
    const int index = upkeep->context().index;
    upkeep.reset();
    CuDevice device = 0;
    if (api_.cuDeviceGet(&device, index) == kCuSuccess) {
      api_.cuDevicePrimaryCtxRelease_v2(device);
    }
  }
}

bool CudaDriver::settle(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  bool all = true;
  for (auto& upkeep : upkeeps_) all = upkeep->settle(deadline) && all;
  return all;
}

absl::StatusOr<std::string> CudaDriver::name_of(int index) const {
  CuDevice device = 0;
  HVD_RETURN_IF_ERROR(
      status_of(api_, api_.cuDeviceGet(&device, index), "cuDeviceGet"));
  std::array<char, 256> name{};
  HVD_RETURN_IF_ERROR(status_of(
      api_,
      api_.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
      "cuDeviceGetName"));
  return std::string(name.data());
}

absl::StatusOr<CuUuid> CudaDriver::uuid_of(int index) const {
  CuDevice device = 0;
  HVD_RETURN_IF_ERROR(
      status_of(api_, api_.cuDeviceGet(&device, index), "cuDeviceGet"));
  CuUuid uuid = {};
  HVD_RETURN_IF_ERROR(
      status_of(api_, api_.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid"));
  return uuid;
}

absl::StatusOr<CudaContext> CudaDriver::context(int index) {
  if (index < 0 || index >= devices_) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no GPU ", index, "; this process sees ",
                     devices_, ", counted from 0"));
  }
  std::atomic<const CudaContext*>& made =
      contexts_[static_cast<std::size_t>(index)];
  if (const CudaContext* const context = made.load()) return *context;
  const MutexLock lock(mutex_);
  if (const CudaContext* const context = made.load()) return *context;
  CuDevice device = 0;
  HVD_RETURN_IF_ERROR(
      status_of(api_, api_.cuDeviceGet(&device, index), "cuDeviceGet"));
  CuContext handle = nullptr;
  HVD_RETURN_IF_ERROR(
      annotate(status_of(api_, api_.cuDevicePrimaryCtxRetain(&handle, device),
                         "cuDevicePrimaryCtxRetain"),
               absl::StrCat("GPU ", index)));
  upkeeps_.push_back(std::make_unique<CudaUpkeep>(api_, handle, index));
  made.store(&upkeeps_.back()->context());
  return upkeeps_.back()->context();
}

absl::StatusOr<int> CudaDriver::device_of(const void* memory) const {
  unsigned type = 0;
  int index = 0;
  int attributes[] = {kCuPointerMemoryType, kCuPointerDeviceOrdinal};
  void* values[] = {&type, &index};
  // For memory that CUDA does not know the type is 0, without an error.
  const CuResult result = api_.cuPointerGetAttributes(
      2, attributes, values, reinterpret_cast<CuAddress>(memory));
  const bool is_of_host = result == kCuSuccess && type == kCuMemoryOfHost;
  if (result == kCuSuccess && type != 0 && !is_of_host) return index;
  return absl::InvalidArgumentError(
      is_of_host
          ? "it is said to lie on a GPU, and is pinned memory of the host"
          : "it is said to lie on a GPU, but CUDA does not know its memory");
}

}  // namespace hvd::device
