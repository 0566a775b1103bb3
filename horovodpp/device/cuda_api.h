// SPDX-License-Identifier: Apache-2.0
// The CudaApi is the table of the CUDA driver's functions that the library
// uses, filled when the driver's library is loaded. The declarations are our
// own, so one binary runs with and without a driver, and is built without
// CUDA's headers. A test compares them with the real ones.
//
// Names, arguments and numbers are from CUDA's driver API; see its
// documentation. Only `CudaDriver` calls the functions.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::device {

using CuResult = int;  // The driver's enumerations are plain numbers here.
using CuDevice = int;
using CuAddress = unsigned long long;  // An address in a device's memory.
using CuContext = struct CuContextOfDriver*;
using CuStream = struct CuStreamOfDriver*;
using CuEvent = struct CuEventOfDriver*;
using CuModule = struct CuModuleOfDriver*;
using CuFunction = struct CuFunctionOfDriver*;
using CuPool = struct CuPoolOfDriver*;
using CuGraph = struct CuGraphOfDriver*;
using CuGraphExec = struct CuGraphExecOfDriver*;

struct CuUuid {
  char bytes[16];
};

inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNoDevice = 100;
inline constexpr CuResult kCuNotReady = 600;
inline constexpr CuResult kCuPeerAccessAlreadyEnabled = 704;
inline constexpr CuResult kCuCaptureImplicit = 906;

inline constexpr unsigned kCuEventDisableTiming = 2;
inline constexpr unsigned kCuEventInterprocess = 4;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuMemHostAllocPortable = 1;
inline constexpr unsigned kCuMemHostRegisterPortable = 1;
inline constexpr unsigned kCuIpcLazyPeerAccess = 1;
inline constexpr int kCuPointerMemoryType = 2;
inline constexpr int kCuPointerDeviceOrdinal = 9;
inline constexpr unsigned kCuMemoryOfHost = 1;
inline constexpr unsigned kCuMemoryOfDevice = 2;
inline constexpr int kCuRegistersOfFunction = 4;
inline constexpr int kCuPoolReleaseThreshold = 4;
inline constexpr int kCuPinnedAllocation = 1;
inline constexpr int kCuLocationDevice = 1;
inline constexpr int kCuCaptureThreadLocal = 1;
inline constexpr int kCuCaptureRelaxed = 2;
inline constexpr int kCuNotCapturing = 0;

// The handle by which another process opens memory or an event.
struct CuIpcHandle {
  char reserved[64];
};

struct CuPoolProperties {
  int allocation_type = kCuPinnedAllocation;
  int handle_types = 0;
  int location_type = kCuLocationDevice;
  int location_id = 0;
  void* security_attributes = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

#define HVD_CUDA_FUNCTIONS(F)                                               \
  F(cuInit, unsigned flags)                                                 \
  F(cuDriverGetVersion, int* version)                                       \
  F(cuGetErrorName, CuResult result, const char** name)                     \
  F(cuGetErrorString, CuResult result, const char** text)                   \
  F(cuDeviceGetCount, int* count)                                           \
  F(cuDeviceGet, CuDevice* device, int ordinal)                             \
  F(cuDeviceGetName, char* name, int length, CuDevice device)               \
  F(cuDeviceGetUuid, CuUuid* uuid, CuDevice device)                         \
  F(cuDevicePrimaryCtxRetain, CuContext* context, CuDevice device)          \
  F(cuDevicePrimaryCtxRelease_v2, CuDevice device)                          \
  F(cuCtxPushCurrent_v2, CuContext context)                                 \
  F(cuCtxPopCurrent_v2, CuContext* context)                                 \
  F(cuCtxGetStreamPriorityRange, int* least, int* greatest)                 \
  F(cuStreamCreateWithPriority, CuStream* stream, unsigned flags,           \
    int priority)                                                           \
  F(cuStreamDestroy_v2, CuStream stream)                                    \
  F(cuStreamSynchronize, CuStream stream)                                   \
  F(cuStreamWaitEvent, CuStream stream, CuEvent event, unsigned flags)      \
  F(cuEventCreate, CuEvent* event, unsigned flags)                          \
  F(cuEventDestroy_v2, CuEvent event)                                       \
  F(cuEventRecord, CuEvent event, CuStream stream)                          \
  F(cuEventQuery, CuEvent event)                                            \
  F(cuEventSynchronize, CuEvent event)                                      \
  F(cuMemAlloc_v2, CuAddress* memory, std::size_t bytes)                    \
  F(cuMemFree_v2, CuAddress memory)                                         \
  F(cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                 \
  F(cuMemHostAlloc, void** memory, std::size_t bytes, unsigned flags)       \
  F(cuMemFreeHost, void* memory)                                            \
  F(cuMemcpyAsync, CuAddress to, CuAddress from, std::size_t bytes,         \
    CuStream stream)                                                        \
  F(cuPointerGetAttributes, unsigned count, int* attributes, void** values, \
    CuAddress memory)                                                       \
  F(cuMemHostRegister_v2, void* memory, std::size_t bytes, unsigned flags)  \
  F(cuMemHostUnregister, void* memory)                                      \
  F(cuMemPoolCreate, CuPool* pool, const CuPoolProperties* properties)      \
  F(cuMemPoolDestroy, CuPool pool)                                          \
  F(cuMemPoolSetAttribute, CuPool pool, int attribute, void* value)         \
  F(cuMemAllocFromPoolAsync, CuAddress* memory, std::size_t bytes,          \
    CuPool pool, CuStream stream)                                           \
  F(cuMemFreeAsync, CuAddress memory, CuStream stream)                      \
  F(cuDeviceCanAccessPeer, int* can, CuDevice device, CuDevice peer)        \
  F(cuCtxEnablePeerAccess, CuContext peer, unsigned flags)                  \
  F(cuIpcGetMemHandle, CuIpcHandle* handle, CuAddress memory)               \
  F(cuIpcOpenMemHandle_v2, CuAddress* memory, CuIpcHandle handle,           \
    unsigned flags)                                                         \
  F(cuIpcCloseMemHandle, CuAddress memory)                                  \
  F(cuIpcGetEventHandle, CuIpcHandle* handle, CuEvent event)                \
  F(cuIpcOpenEventHandle, CuEvent* event, CuIpcHandle handle)               \
  F(cuThreadExchangeStreamCaptureMode, int* mode)                           \
  F(cuStreamIsCapturing, CuStream stream, int* status)                      \
  F(cuStreamBeginCapture_v2, CuStream stream, int mode)                     \
  F(cuStreamEndCapture, CuStream stream, CuGraph* graph)                    \
  F(cuGraphDestroy, CuGraph graph)                                          \
  F(cuGraphInstantiateWithFlags, CuGraphExec* made, CuGraph graph,          \
    unsigned long long flags)                                               \
  F(cuGraphLaunch, CuGraphExec graph, CuStream stream)                      \
  F(cuGraphExecDestroy, CuGraphExec graph)                                  \
  F(cuModuleLoadData, CuModule* module, const void* image)                  \
  F(cuModuleUnload, CuModule module)                                        \
  F(cuModuleGetFunction, CuFunction* function, CuModule module,             \
    const char* name)                                                       \
  F(cuFuncGetAttribute, int* value, int attribute, CuFunction function)     \
  F(cuLaunchKernel, CuFunction function, unsigned grid_x, unsigned grid_y,  \
    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,  \
    unsigned shared_bytes, CuStream stream, void** parameters, void** extra)

struct CudaApi {
#define HVD_FUNCTION_POINTER(name, ...) CuResult (*name)(__VA_ARGS__) = nullptr;
  HVD_CUDA_FUNCTIONS(HVD_FUNCTION_POINTER)
#undef HVD_FUNCTION_POINTER

  // Loads the functions from `file`, a path or a name that the dynamic linker
  // knows.
  //   NotFound  there is no such file, or it lacks a function; names it
  static absl::StatusOr<CudaApi> load(const std::string& file);
};

}  // namespace hvd::device
