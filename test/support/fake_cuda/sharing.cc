// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver for kernels, pools, and sharing between
// processes and GPUs.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "test/support/fake_cuda/control.h"
#include "test/support/fake_cuda/world.h"

using namespace fake_cuda;  // NOLINT: C follows.

namespace {

std::atomic<std::size_t> launches{0};

template <typename T>
CuIpcHandle packed(const T& ticket) {
  static_assert(sizeof(T) <= sizeof(CuIpcHandle));
  CuIpcHandle handle = {};
  std::memcpy(&handle, &ticket, sizeof(T));
  return handle;
}

template <typename T>
T unpacked(const CuIpcHandle& handle) {
  T ticket;
  std::memcpy(&ticket, &handle, sizeof(T));
  return ticket;
}

}  // namespace

extern "C" {

std::size_t fake_cuda_launches() { return launches; }

std::size_t fake_cuda_freed_too_early() {
  return world().memory.freed_too_early();
}

CuResult cuModuleLoadData(CuModule* module, const void* image) {
  if (current_context() == nullptr) return kInvalidContext;
  if (image == nullptr) return kInvalidValue;
  if (const CuResult forbidden = unsafe()) return forbidden;
  if (const CuResult failure = failure_of("cuModuleLoadData")) return failure;
  *module = new hvd::device::CuModuleOfDriver{current_context()->device};
  const std::lock_guard lock(world().mutex);
  world().modules.insert(*module);
  return kSuccess;
}

CuResult cuModuleUnload(CuModule module) {
  if (current_context() == nullptr) return kInvalidContext;
  const std::lock_guard lock(world().mutex);
  if (world().modules.erase(module) == 0) return kInvalidHandle;
  delete module;
  return kSuccess;
}

CuResult cuModuleGetFunction(CuFunction* function, CuModule module,
                             const char* name) {
  static std::map<std::pair<const Kernel*, int>,
                  hvd::device::CuFunctionOfDriver>
      functions;
  if (current_context() == nullptr) return kInvalidContext;
  const Kernel* const kernel = find_kernel(name);
  if (kernel == nullptr) return kNotFound;
  const std::lock_guard lock(world().mutex);
  if (world().modules.count(module) == 0) return kInvalidHandle;
  *function =
      &functions.try_emplace({kernel, module->device}, kernel, module->device)
           .first->second;
  return kSuccess;
}

CuResult cuFuncGetAttribute(int* value, int attribute, CuFunction function) {
  if (current_context() == nullptr) return kInvalidContext;
  if (attribute != hvd::device::kCuRegistersOfFunction) return kInvalidValue;
  function->is_loaded = true;
  *value = 1;
  return kSuccess;
}

CuResult cuLaunchKernel(CuFunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned, CuStream stream,
                        void** parameters, void** extra) {
  if (current_context() == nullptr) return kInvalidContext;
  const auto queue = queue_of(stream);
  // A kernel and its stream must be of one GPU.
  if (queue == nullptr || queue->device() != function->device) {
    return kInvalidHandle;
  }
  const bool is_sound = grid_x > 0 && grid_y == 1 && grid_z == 1 &&
                        block_x == 256 && block_y == 1 && block_z == 1 &&
                        extra == nullptr;
  if (!is_sound) return kInvalidValue;
  if (!function->is_loaded.exchange(true)) wait_for_all_work();
  const CuResult failure = failure_of("cuLaunchKernel");
  ++launches;
  // Parameters are copied when a kernel is put into a stream.
  const auto* const bytes = static_cast<const std::byte*>(parameters[0]);
  auto parameter = std::make_shared<std::vector<std::byte>>(
      bytes, bytes + function->kernel->parameter_bytes);
  return put(stream, [=, kernel = function->kernel, device = queue->device()] {
    if (failure != kSuccess) return failure;
    const Reach open_local = [&](const void* memory, std::size_t size) {
      return reach(device, memory, size);
    };
    return kernel->run(parameter->data(), grid_x, open_local) ? kSuccess
                                                              : kIllegalAddress;
  });
}

CuResult cuMemPoolCreate(CuPool* pool, const CuPoolProperties* properties) {
  if (properties->allocation_type != hvd::device::kCuPinnedAllocation ||
      properties->location_type != hvd::device::kCuLocationDevice ||
      properties->location_id < 0 ||
      properties->location_id >= world().devices) {
    return kInvalidValue;
  }
  if (const CuResult failure = failure_of("cuMemPoolCreate")) return failure;
  *pool = new hvd::device::CuPoolOfDriver{properties->location_id};
  const std::lock_guard lock(world().mutex);
  world().pools.insert(*pool);
  return kSuccess;
}

CuResult cuMemPoolDestroy(CuPool pool) {
  if (current_context() == nullptr) return kInvalidContext;
  const std::lock_guard lock(world().mutex);
  if (world().pools.erase(pool) == 0) return kInvalidHandle;
  delete pool;
  return kSuccess;
}

CuResult cuMemPoolSetAttribute(CuPool, int attribute, void*) {
  return attribute == hvd::device::kCuPoolReleaseThreshold ? kSuccess
                                                           : kInvalidValue;
}

CuResult cuMemAllocFromPoolAsync(CuAddress* memory, std::size_t bytes,
                                 CuPool pool, CuStream stream) {
  if (current_context() == nullptr) return kInvalidContext;
  if (queue_of(stream) == nullptr) return kInvalidHandle;
  if (const CuResult failure = failure_of("cuMemAllocFromPoolAsync")) {
    return failure;
  }
  *memory =
      world().memory.allocate(bytes, pool->device, DeviceMemory::Kind::kOfPool);
  return *memory == 0 ? kOutOfMemory : kSuccess;
}

CuResult cuMemFreeAsync(CuAddress memory, CuStream stream) {
  if (current_context() == nullptr) return kInvalidContext;
  return put(stream, [memory] {
    return world().memory.free(memory) ? kSuccess : kInvalidValue;
  });
}

CuResult cuDeviceCanAccessPeer(int* can, CuDevice device, CuDevice peer) {
  const bool apart = number_from_environment("FAKE_CUDA_NO_PEERS", 0) != 0;
  *can = device != peer && !apart ? 1 : 0;
  return kSuccess;
}

CuResult cuCtxEnablePeerAccess(CuContext peer, unsigned flags) {
  const CuContext context = current_context();
  if (context == nullptr || peer == nullptr || peer == context) {
    return kInvalidContext;
  }
  if (flags != 0) return kInvalidValue;
  int can = 0;
  cuDeviceCanAccessPeer(&can, context->device, peer->device);
  if (can == 0) return kPeerAccessUnsupported;
  if (const CuResult failure = failure_of("cuCtxEnablePeerAccess")) {
    return failure;
  }
  const std::lock_guard lock(world().mutex);
  const bool is_new =
      world().peers.insert({context->device, peer->device}).second;
  return is_new ? kSuccess : kPeerAccessAlreadyEnabled;
}

// Like CUDA, refuses memory that is not from cuMemAlloc().
CuResult cuIpcGetMemHandle(CuIpcHandle* handle, CuAddress memory) {
  if (current_context() == nullptr) return kInvalidContext;
  if (const CuResult failure = failure_of("cuIpcGetMemHandle")) return failure;
  const auto ticket = world().memory.ticket_of(memory);
  if (!ticket) return kInvalidValue;
  *handle = packed(*ticket);
  return kSuccess;
}

// Like CUDA, refuses this process's own memory.
CuResult cuIpcOpenMemHandle_v2(CuAddress* memory, CuIpcHandle handle,
                               unsigned flags) {
  if (current_context() == nullptr) return kInvalidContext;
  if (flags != hvd::device::kCuIpcLazyPeerAccess) return kInvalidValue;
  if (const CuResult failure = failure_of("cuIpcOpenMemHandle_v2")) {
    return failure;
  }
  const auto ticket = unpacked<DeviceMemory::Ticket>(handle);
  if (ticket.file.pid == getpid()) return kInvalidContext;
  *memory = world().memory.open(ticket);
  return *memory == 0 ? kInvalidHandle : kSuccess;
}

CuResult cuIpcCloseMemHandle(CuAddress memory) {
  if (current_context() == nullptr) return kInvalidContext;
  return world().memory.close(memory) ? kSuccess : kInvalidValue;
}

CuResult cuIpcGetEventHandle(CuIpcHandle* handle, CuEvent event) {
  if (current_context() == nullptr) return kInvalidContext;
  const auto shared = std::dynamic_pointer_cast<SharedEvent>(event_of(event));
  if (shared == nullptr) return kInvalidHandle;
  *handle = packed(shared->ticket());
  return kSuccess;
}

CuResult cuIpcOpenEventHandle(CuEvent* event, CuIpcHandle handle) {
  const CuContext context = current_context();
  if (context == nullptr) return kInvalidContext;
  const auto ticket = unpacked<FileTicket>(handle);
  if (ticket.pid == getpid()) return kInvalidContext;
  auto opened = SharedEvent::open(ticket);
  if (opened == nullptr) return kInvalidHandle;
  *event = new hvd::device::CuEventOfDriver{std::move(opened), context->device};
  const std::lock_guard lock(world().mutex);
  world().events.insert(*event);
  return kSuccess;
}

}  // extern "C"
