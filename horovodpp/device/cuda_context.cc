// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_context.h"

#include "absl/strings/str_cat.h"

namespace hvd::device {

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
