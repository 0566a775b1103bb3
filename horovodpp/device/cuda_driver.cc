// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_driver.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::device {
namespace {

std::string text_of(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

absl::Status status_of(const CudaApi& api, CuResult result, const char* call) {
  if (result == kCuSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != kCuSuccess || name == nullptr) {
    return absl::InternalError(absl::StrCat(call, ": CUDA error ", result));
  }
  api.cuGetErrorString(result, &text);
  return absl::InternalError(
      absl::StrCat(call, ": ", name, ", ", text == nullptr ? "" : text));
}

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
  return std::unique_ptr<CudaDriver>(new CudaDriver(*api, version, devices));
}

CudaDriver::CudaDriver(const CudaApi& api, int version, int devices)
    : api_(api),
      version_(version),
      devices_(devices),
      contexts_(static_cast<std::size_t>(devices), nullptr) {}

CudaDriver::~CudaDriver() {
  const MutexLock lock(mutex_);
  for (int i = 0; i < devices_; ++i) {
    CuDevice device = 0;
    if (contexts_[static_cast<std::size_t>(i)] != nullptr &&
        api_.cuDeviceGet(&device, i) == kCuSuccess) {
      api_.cuDevicePrimaryCtxRelease_v2(device);
    }
  }
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
  const MutexLock lock(mutex_);
  CuContext& context = contexts_[static_cast<std::size_t>(index)];
  if (context == nullptr) {
    CuDevice device = 0;
    HVD_RETURN_IF_ERROR(
        status_of(api_, api_.cuDeviceGet(&device, index), "cuDeviceGet"));
    HVD_RETURN_IF_ERROR(annotate(
        status_of(api_, api_.cuDevicePrimaryCtxRetain(&context, device),
                  "cuDevicePrimaryCtxRetain"),
        absl::StrCat("GPU ", index)));
  }
  return CudaContext{.api = &api_, .handle = context, .index = index};
}

absl::StatusOr<int> CudaDriver::device_of(const void* memory) const {
  int index = 0;
  const CuResult result = api_.cuPointerGetAttribute(
      &index, kCuPointerDeviceOrdinal, reinterpret_cast<CuAddress>(memory));
  if (result != kCuSuccess) {
    return absl::InvalidArgumentError(
        "it is said to lie on a GPU, but CUDA does not know its memory");
  }
  return index;
}

CurrentContext::CurrentContext(const CudaContext& context)
    : api_(*context.api),
      status_(status_of(api_, api_.cuCtxPushCurrent_v2(context.handle),
                        "cuCtxPushCurrent")) {
  if (status_.ok()) api_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
}

CurrentContext::~CurrentContext() {
  if (!status_.ok()) return;
  api_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
  CuContext popped = nullptr;
  api_.cuCtxPopCurrent_v2(&popped);
}

}  // namespace hvd::device
