// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_stream.h"

#include <cstdint>

#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {
namespace {

CuAddress address_of(const void* memory) {
  return reinterpret_cast<CuAddress>(memory);
}

// An event in the legacy default stream would break the capture of any stream
// that is ordered with it. This query does not.
absl::Status check_takes_work(const CudaContext& context, CuStream stream) {
  if (!is_legacy(stream)) return absl::OkStatus();
  int state = kCuNotCapturing;
  const CuResult result = context.api->cuStreamIsCapturing(stream, &state);
  if (result != kCuCaptureImplicit) {
    return status_of(*context.api, result, "cuStreamIsCapturing");
  }
  return absl::FailedPreconditionError(
      "the legacy default stream takes no work while a stream that is ordered "
      "with it is captured; name another stream, or capture in a stream made "
      "with cudaStreamNonBlocking");
}

}  // namespace

bool is_legacy(CuStream stream) {
  constexpr std::uintptr_t kOtherName = 1;  // CU_STREAM_LEGACY.
  return reinterpret_cast<std::uintptr_t>(stream) <= kOtherName;
}

absl::StatusOr<CudaEvent> CudaEvent::after(const CudaContext& context,
                                           CuStream stream) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  HVD_RETURN_IF_ERROR(check_takes_work(context, stream));
  CuEvent event = nullptr;
  HVD_RETURN_IF_ERROR(status_of(
      *context.api, context.upkeep->take_event(&event), "cuEventCreate"));
  CudaEvent made(context, event);
  HVD_RETURN_IF_ERROR(status_of(*context.api,
                                context.api->cuEventRecord(event, stream),
                                "cuEventRecord"));
  return made;
}

CudaEvent::~CudaEvent() {
  if (event_ != nullptr) context_.upkeep->put_back(event_);
}

absl::Status CudaEvent::wait() const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api, context_.api->cuEventSynchronize(event_),
                   "cuEventSynchronize");
}

absl::StatusOr<bool> has_completed(const CudaContext& context, CuEvent event) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CuResult result = context.api->cuEventQuery(event);
  if (result == kCuNotReady) return false;
  HVD_RETURN_IF_ERROR(status_of(*context.api, result, "cuEventQuery"));
  return true;
}

absl::Status CudaEvent::hold_up(CuStream stream) const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  HVD_RETURN_IF_ERROR(check_takes_work(context_, stream));
  return status_of(*context_.api,
                   context_.api->cuStreamWaitEvent(stream, event_, 0),
                   "cuStreamWaitEvent");
}

absl::StatusOr<CudaStream> CudaStream::create(const CudaContext& context) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CudaApi& api = *context.api;
  int least = 0;
  int greatest = 0;
  HVD_RETURN_IF_ERROR(
      status_of(api, api.cuCtxGetStreamPriorityRange(&least, &greatest),
                "cuCtxGetStreamPriorityRange"));
  CuStream stream = nullptr;
  HVD_RETURN_IF_ERROR(status_of(
      api,
      api.cuStreamCreateWithPriority(&stream, kCuStreamNonBlocking, greatest),
      "cuStreamCreateWithPriority"));
  return CudaStream(context, stream);
}

CudaStream::~CudaStream() {
  if (stream_ == nullptr) return;
  const CurrentContext current(context_);
  context_.api->cuStreamDestroy_v2(stream_);
}

absl::Status CudaStream::wait_for(CuEvent event) const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api,
                   context_.api->cuStreamWaitEvent(stream_, event, 0),
                   "cuStreamWaitEvent");
}

absl::Status CudaStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api,
                   context_.api->cuMemcpyAsync(address_of(to), address_of(from),
                                               bytes, stream_),
                   "cuMemcpyAsync");
}

absl::Status CudaStream::synchronize() {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api, context_.api->cuStreamSynchronize(stream_),
                   "cuStreamSynchronize");
}

}  // namespace hvd::device
