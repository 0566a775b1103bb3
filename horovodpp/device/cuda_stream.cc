// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_stream.h"

#include "horovodpp/core/status.h"

namespace hvd::device {
namespace {

CuAddress address_of(const void* memory) {
  return reinterpret_cast<CuAddress>(memory);
}

}  // namespace

absl::StatusOr<CudaEvent> CudaEvent::after(const CudaContext& context,
                                           CuStream stream) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  CuEvent event = nullptr;
  HVD_RETURN_IF_ERROR(status_of(
      *context.api, context.api->cuEventCreate(&event, kCuEventDisableTiming),
      "cuEventCreate"));
  CudaEvent made(context, event);
  HVD_RETURN_IF_ERROR(status_of(*context.api,
                                context.api->cuEventRecord(event, stream),
                                "cuEventRecord"));
  return made;
}

CudaEvent::~CudaEvent() {
  if (event_ == nullptr) return;
  const CurrentContext current(context_);
  context_.api->cuEventDestroy_v2(event_);
}

absl::Status CudaEvent::wait() const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api, context_.api->cuEventSynchronize(event_),
                   "cuEventSynchronize");
}

absl::StatusOr<bool> CudaEvent::has_happened() const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  const CuResult result = context_.api->cuEventQuery(event_);
  if (result == kCuNotReady) return false;
  HVD_RETURN_IF_ERROR(status_of(*context_.api, result, "cuEventQuery"));
  return true;
}

absl::Status CudaEvent::hold_up(CuStream stream) const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
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
