// SPDX-License-Identifier: Apache-2.0
// All there is of one process's GPUs, and what functions of the driver need of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/device/cuda_api.h"
#include "test/support/fake_cuda/kernels.h"
#include "test/support/fake_cuda/memory.h"
#include "test/support/fake_cuda/stream.h"

namespace hvd::device {
struct CuContextOfDriver {
  int device;
  std::shared_ptr<fake_cuda::Stream> default_stream;
};
struct CuStreamOfDriver {
  std::shared_ptr<fake_cuda::Stream> stream;
};
struct CuEventOfDriver {
  std::shared_ptr<fake_cuda::Event> event;
  int device;
};
struct CuModuleOfDriver {
  int device;
};
struct CuFunctionOfDriver {
  const fake_cuda::Kernel* kernel;
};
struct CuPoolOfDriver {
  int device;
};
}  // namespace hvd::device

namespace fake_cuda {

using hvd::device::CuAddress;
using hvd::device::CuContext;
using hvd::device::CuDevice;
using hvd::device::CuEvent;
using hvd::device::CuFunction;
using hvd::device::CuIpcHandle;
using hvd::device::CuModule;
using hvd::device::CuPool;
using hvd::device::CuPoolProperties;
using hvd::device::CuResult;
using hvd::device::CuStream;

inline constexpr CuResult kSuccess = 0;
inline constexpr CuResult kInvalidValue = 1;
inline constexpr CuResult kOutOfMemory = 2;
inline constexpr CuResult kNoDevice = 100;
inline constexpr CuResult kInvalidDevice = 101;
inline constexpr CuResult kInvalidContext = 201;
inline constexpr CuResult kInvalidHandle = 400;
inline constexpr CuResult kNotFound = 500;
inline constexpr CuResult kNotReady = 600;
inline constexpr CuResult kIllegalAddress = 700;
inline constexpr CuResult kPeerAccessAlreadyEnabled = 704;

int number_from_environment(const char* name, int otherwise);

// Streams that are destroyed go on with what they have until the process ends.
struct World {
  const int devices = number_from_environment("FAKE_CUDA_DEVICES", 4);
  DeviceMemory memory;
  std::mutex mutex;
  std::map<std::string, CuResult> failures;
  std::vector<std::unique_ptr<hvd::device::CuContextOfDriver>> contexts;
  std::set<CuStream> streams;
  std::set<CuEvent> events;
  std::map<std::uintptr_t, std::size_t> pinned;  // And its size.
  std::set<void*> allocated;                     // Of what is pinned.
  std::set<CuPool> pools;
  std::set<CuModule> modules;
  std::set<std::pair<int, int>>
      peers;  // A device, and whose memory it may touch.
  std::vector<std::shared_ptr<Stream>> ending;

  World();
};

World& world();

// What this thread works with; nullptr: nothing.
CuContext current_context();

// What the next call of `function` is to return, once.
CuResult failure_of(const char* function);

// The queue behind a handle; none if there is no such stream.
std::shared_ptr<Stream> queue_of(CuStream stream);
std::shared_ptr<Event> event_of(CuEvent event);

// Where memory of a device can be touched by a copy; memory of the host is where it is.
std::byte* place_of(CuAddress address, std::size_t bytes);

// As place_of(), for a kernel of `device`: memory of that device, of one it has access
// to, or pinned. nullptr: it may not touch it.
std::byte* reach(int device, const void* memory, std::size_t bytes);

}  // namespace fake_cuda
