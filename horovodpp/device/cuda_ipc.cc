// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_ipc.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::device {

absl::StatusOr<IpcMemory> IpcMemory::allocate(const CudaContext& context,
                                              std::size_t bytes) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CudaApi& api = *context.api;
  CuAddress address = 0;
  const absl::Status allocated =
      status_of(api, api.cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
  if (!allocated.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes on GPU ", context.index,
                     ": ", allocated.message()));
  }
  IpcMemory memory(context, address, false);
  HVD_RETURN_IF_ERROR(status_of(api,
                                api.cuIpcGetMemHandle(&memory.ticket_, address),
                                "cuIpcGetMemHandle"));
  return memory;
}

absl::StatusOr<IpcMemory> IpcMemory::open(const CudaContext& context,
                                          const CuIpcHandle& ticket) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  CuAddress address = 0;
  HVD_RETURN_IF_ERROR(status_of(*context.api,
                                context.api->cuIpcOpenMemHandle_v2(
                                    &address, ticket, kCuIpcLazyPeerAccess),
                                "cuIpcOpenMemHandle"));
  IpcMemory memory(context, address, true);
  memory.ticket_ = ticket;
  return memory;
}

IpcMemory::~IpcMemory() {
  if (memory_ == 0) return;
  const CurrentContext current(context_);
  if (opened_) {
    context_.api->cuIpcCloseMemHandle(memory_);
  } else {
    context_.api->cuMemFree_v2(memory_);
  }
}

std::byte* IpcMemory::data() const {
  return std::bit_cast<std::byte*>(memory_);
}

absl::StatusOr<IpcEvent> IpcEvent::create(const CudaContext& context) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CudaApi& api = *context.api;
  CuEvent handle = nullptr;
  HVD_RETURN_IF_ERROR(status_of(
      api,
      api.cuEventCreate(&handle, kCuEventDisableTiming | kCuEventInterprocess),
      "cuEventCreate"));
  IpcEvent event(context, handle);
  HVD_RETURN_IF_ERROR(status_of(api,
                                api.cuIpcGetEventHandle(&event.ticket_, handle),
                                "cuIpcGetEventHandle"));
  return event;
}

absl::StatusOr<IpcEvent> IpcEvent::open(const CudaContext& context,
                                        const CuIpcHandle& ticket) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  CuEvent handle = nullptr;
  HVD_RETURN_IF_ERROR(status_of(
      *context.api, context.api->cuIpcOpenEventHandle(&handle, ticket),
      "cuIpcOpenEventHandle"));
  IpcEvent event(context, handle);
  event.ticket_ = ticket;
  return event;
}

IpcEvent::~IpcEvent() {
  if (event_ == nullptr) return;
  const CurrentContext current(context_);
  context_.api->cuEventDestroy_v2(event_);
}

absl::Status IpcEvent::record(const CudaStream& stream) {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api,
                   context_.api->cuEventRecord(event_, stream.handle()),
                   "cuEventRecord");
}

absl::Status enable_peer_access(const CudaContext& context,
                                const CudaContext& peer) {
  if (context.index == peer.index) return absl::OkStatus();
  const CudaApi& api = *context.api;
  CuDevice device = 0;
  CuDevice other = 0;
  HVD_RETURN_IF_ERROR(
      status_of(api, api.cuDeviceGet(&device, context.index), "cuDeviceGet"));
  HVD_RETURN_IF_ERROR(
      status_of(api, api.cuDeviceGet(&other, peer.index), "cuDeviceGet"));
  int can = 0;
  HVD_RETURN_IF_ERROR(status_of(api,
                                api.cuDeviceCanAccessPeer(&can, device, other),
                                "cuDeviceCanAccessPeer"));
  if (can == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("GPU ", context.index, " cannot access the memory of GPU ",
                     peer.index));
  }
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CuResult result = api.cuCtxEnablePeerAccess(peer.handle, 0);
  if (result == kCuPeerAccessAlreadyEnabled) return absl::OkStatus();
  return status_of(api, result, "cuCtxEnablePeerAccess");
}

}  // namespace hvd::device
