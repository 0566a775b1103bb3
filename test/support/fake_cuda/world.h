// SPDX-License-Identifier: Apache-2.0
// The state of one process's GPUs, and the helpers that the driver's functions
// share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/device/cuda_api.h"
#include "test/support/fake_cuda/capture.h"
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
  // Whether the stream is ordered with the legacy default stream. Only captures
  // use this; the fake does not order the two.
  bool is_ordered = false;
  // The capture that records the stream, and the stream's branch; nullptr:
  // none.
  std::shared_ptr<fake_cuda::Capture> capture = nullptr;
  std::size_t branch = 0;
};
struct CuEventOfDriver {
  std::shared_ptr<fake_cuda::Event> event;
  int device;
  // Whether its last recording was captured, and where.
  bool was_captured = false;
  std::weak_ptr<fake_cuda::Capture> captured = {};
  std::size_t edge = 0;
};
struct CuModuleOfDriver {
  int device;
};
struct CuFunctionOfDriver {
  CuFunctionOfDriver(const fake_cuda::Kernel* of, int on)
      : kernel(of), device(on) {}
  const fake_cuda::Kernel* const kernel;
  const int device;
  std::atomic<bool> is_loaded{false};
};
struct CuPoolOfDriver {
  int device;
};
struct CuGraphOfDriver {
  std::vector<fake_cuda::Branch> branches;
};
struct CuGraphExecOfDriver {
  std::shared_ptr<fake_cuda::Graph> graph;
};
}  // namespace hvd::device

namespace fake_cuda {

using hvd::device::CuAddress;
using hvd::device::CuContext;
using hvd::device::CuDevice;
using hvd::device::CuEvent;
using hvd::device::CuFunction;
using hvd::device::CuGraph;
using hvd::device::CuGraphExec;
using hvd::device::CuIpcHandle;
using hvd::device::CuModule;
using hvd::device::CuPool;
using hvd::device::CuPoolProperties;
using hvd::device::CuResult;
using hvd::device::CuStream;

inline constexpr CuResult kSuccess = 0;
inline constexpr CuResult kInvalidValue = 1;
inline constexpr CuResult kOutOfMemory = 2;
inline constexpr CuResult kDeinitialized = 4;
inline constexpr CuResult kNoDevice = 100;
inline constexpr CuResult kInvalidDevice = 101;
inline constexpr CuResult kInvalidContext = 201;
inline constexpr CuResult kPeerAccessUnsupported = 217;
inline constexpr CuResult kInvalidHandle = 400;
inline constexpr CuResult kNotFound = 500;
inline constexpr CuResult kNotReady = 600;
inline constexpr CuResult kIllegalAddress = 700;
inline constexpr CuResult kPeerAccessAlreadyEnabled = 704;
inline constexpr CuResult kHostMemoryAlreadyRegistered = 712;
inline constexpr CuResult kHostMemoryNotRegistered = 713;
inline constexpr CuResult kCaptureUnsupported = 900;
inline constexpr CuResult kCaptureInvalidated = 901;
inline constexpr CuResult kCaptureMerge = 902;
inline constexpr CuResult kCaptureUnjoined = 904;
inline constexpr CuResult kCaptureIsolation = 905;
inline constexpr CuResult kCaptureImplicit = 906;
inline constexpr CuResult kCapturedEvent = 907;
inline constexpr CuResult kCaptureWrongThread = 908;

int number_from_environment(const char* name, int otherwise);

// A destroyed stream finishes its work before the process ends.
struct World {
  const int devices = number_from_environment("FAKE_CUDA_DEVICES", 4);
  DeviceMemory memory;
  std::mutex mutex;
  struct Failure {
    CuResult result;
    int times;
  };
  std::map<std::string, Failure> failures;
  std::map<std::string, std::size_t> calls;
  struct During {
    void (*call)(void*);
    void* argument;
  };
  std::map<std::string, During> during;
  std::atomic<bool> has_gone{false};  // Set at exit.
  std::vector<std::unique_ptr<hvd::device::CuContextOfDriver>> contexts;
  std::set<CuStream> streams;
  std::set<CuEvent> events;
  struct Pinned {
    std::size_t bytes;
    int device;  // Of the context that pinned it.
  };
  std::map<std::uintptr_t, Pinned> pinned;
  std::set<void*> allocated;  // Pinned memory allocated here.
  std::set<CuPool> pools;
  std::set<CuModule> modules;
  std::set<CuGraph> graphs;
  std::set<CuGraphExec> launchable;
  std::set<std::pair<int, int>>
      peers;  // (a device, the device whose memory it may touch)
  std::vector<std::shared_ptr<Stream>> ending;

  World();
};

World& world();

// The current context of this thread; nullptr: none.
CuContext current_context();

// Like CUDA, waits before it frees memory or loads a kernel late.
void wait_for_all_work();
void wait_for_all_work_of(int device);

// Counts a call of `function`, and runs the test's action for it. Returns the
// result for the call.
CuResult failure_of(const char* function);

// The queue behind a handle; nullptr if the stream does not exist.
std::shared_ptr<Stream> queue_of(CuStream stream);
std::shared_ptr<Event> event_of(CuEvent event);

// Puts work into a stream, or records it there.
CuResult put(CuStream stream, Stream::Work work);
// Record and await events in captured streams; nullopt if no capture is
// involved.
std::optional<CuResult> record_captured(CuEvent event, CuStream stream);
std::optional<CuResult> await_captured(CuStream stream, CuEvent event);
bool is_captured(CuEvent event);
// For calls that CUDA forbids during captures.
CuResult unsafe();
// For work in the legacy default stream, which would interfere with a captured
// stream that is ordered with it.
CuResult implicit(CuStream stream);

// The GPU in whose context host memory was pinned; nullopt: pageable.
std::optional<int> device_of_pinned(std::uintptr_t memory,
                                    std::size_t bytes = 1);
// For host memory.
bool is_pinned(std::uintptr_t memory, std::size_t bytes);

// Where a copy can touch memory of a device. Host memory is returned unchanged.
std::byte* place_of(CuAddress address, std::size_t bytes);

// Like place_of(), for a kernel of `device`: memory of that device, of a device
// it has access to, or pinned. nullptr: not allowed.
std::byte* reach(int device, const void* memory, std::size_t bytes);

}  // namespace fake_cuda
