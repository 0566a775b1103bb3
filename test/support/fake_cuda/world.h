// SPDX-License-Identifier: Apache-2.0
// All there is of one process's GPUs, and what functions of the driver need of it.
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
  // With the legacy default stream. It counts for captures; the two are not ordered here.
  bool is_ordered = false;
  // What it is recorded into, and as which of its branches; nullptr: it is not.
  std::shared_ptr<fake_cuda::Capture> capture = nullptr;
  std::size_t branch = 0;
};
struct CuEventOfDriver {
  std::shared_ptr<fake_cuda::Event> event;
  int device;
  // Its last recording, where that was recorded itself.
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

// Streams that are destroyed go on with what they have until the process ends.
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
  std::atomic<bool> has_gone{false};  // As the process exits.
  std::vector<std::unique_ptr<hvd::device::CuContextOfDriver>> contexts;
  std::set<CuStream> streams;
  std::set<CuEvent> events;
  struct Pinned {
    std::size_t bytes;
    int device;  // Whose context it was pinned in.
  };
  std::map<std::uintptr_t, Pinned> pinned;
  std::set<void*> allocated;  // Of what is pinned.
  std::set<CuPool> pools;
  std::set<CuModule> modules;
  std::set<CuGraph> graphs;
  std::set<CuGraphExec> launchable;
  std::set<std::pair<int, int>>
      peers;  // A device, and whose memory it may touch.
  std::vector<std::shared_ptr<Stream>> ending;

  World();
};

World& world();

// What this thread works with; nullptr: nothing.
CuContext current_context();

// What CUDA does, too, before it takes memory back, or loads a kernel late.
void wait_for_all_work();
void wait_for_all_work_of(int device);

// Counts a call of `function`, and runs the test's action for it. Returns the result of the
// call.
CuResult failure_of(const char* function);

// The queue behind a handle; none if there is no such stream.
std::shared_ptr<Stream> queue_of(CuStream stream);
std::shared_ptr<Event> event_of(CuEvent event);

// Puts work into a stream, or records it there.
CuResult put(CuStream stream, Stream::Work work);
// What happens to events in streams that are captured; nothing where none is, and all is
// to go its usual way.
std::optional<CuResult> record_captured(CuEvent event, CuStream stream);
std::optional<CuResult> await_captured(CuStream stream, CuEvent event);
bool is_captured(CuEvent event);
// For what CUDA forbids while streams are captured.
CuResult unsafe();
// For work in the legacy default stream, which would come between what a stream that is ordered
// with it has captured.
CuResult implicit(CuStream stream);

// The GPU in whose context memory of the host was pinned; nothing: it is pageable.
std::optional<int> device_of_pinned(std::uintptr_t memory,
                                    std::size_t bytes = 1);
// Of memory of the host.
bool is_pinned(std::uintptr_t memory, std::size_t bytes);

// Where memory of a device can be touched by a copy; memory of the host is where it is.
std::byte* place_of(CuAddress address, std::size_t bytes);

// As place_of(), for a kernel of `device`: memory of that device, of one it has access
// to, or pinned. nullptr: it may not touch it.
std::byte* reach(int device, const void* memory, std::size_t bytes);

}  // namespace fake_cuda
