// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver that horovodpp uses
// (horovodpp/device/cuda_api.h), for GPUs that do not exist. Arguments are
// checked more strictly than CUDA does: nearly every call needs a current
// context.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "test/support/fake_cuda/control.h"
#include "test/support/fake_cuda/world.h"

namespace fake_cuda {
namespace {

// The contexts of a thread. Trivially destructible, because destructors of the
// program's objects may use CUDA after the thread's objects are gone.
class ContextStack {
 public:
  bool empty() const { return depth_ == 0; }
  bool full() const { return depth_ == kMost; }
  CuContext back() const { return contexts_[depth_ - 1]; }
  void push_back(CuContext context) { contexts_[depth_++] = context; }
  void pop_back() { --depth_; }

 private:
  static constexpr std::size_t kMost = 16;
  CuContext contexts_[kMost] = {};
  std::size_t depth_ = 0;
};

thread_local ContextStack current;

// Copies from pageable memory to a GPU up to this size are staged at once.
constexpr std::size_t kStagedAtOnce = std::size_t{64} << 10;

// Whether a copy blocks its caller until the stream has done the copy, or until
// the memory is staged. Copies of pageable memory and between host memory do.
bool blocks(CuAddress to, CuAddress from, std::size_t bytes) {
  const auto is_on_gpu = [](CuAddress memory) {
    return world().memory.knows(memory);
  };
  if (is_on_gpu(to) && is_on_gpu(from)) return false;
  if (!is_on_gpu(to) && !is_on_gpu(from)) return true;
  return !is_pinned(is_on_gpu(to) ? from : to, bytes);
}

std::vector<std::shared_ptr<Stream>> queues_of(int device) {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<Stream>> queues = all.ending;
  queues.push_back(
      all.contexts[static_cast<std::size_t>(device)]->default_stream);
  for (const CuStream stream : all.streams) {
    if (stream->stream->device() == device) queues.push_back(stream->stream);
  }
  return queues;
}

}  // namespace

// Other threads may put more work meanwhile.
void wait_for_all_work_of(int device) {
  for (const auto& queue : queues_of(device)) {
    if (!queue->is_idle()) queue->put_and_wait([] { return kSuccess; });
  }
}

void wait_for_all_work() { wait_for_all_work_of(current.back()->device); }

CuContext current_context() {
  return current.empty() ? nullptr : current.back();
}

}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT: C follows.

extern "C" {

CuResult cuStreamIsCapturing(CuStream stream, int* status);

void fake_cuda_set_delay(unsigned microseconds) { set_delay(microseconds); }

void fake_cuda_set_queue_limit(std::size_t operations) {
  set_queue_limit(operations);
}

void fake_cuda_fail_next(const char* function, int result, int times) {
  const std::lock_guard lock(world().mutex);
  world().failures[function] = {result, times};
}

void fake_cuda_during_next(const char* function, void (*during)(void*),
                           void* argument) {
  const std::lock_guard lock(world().mutex);
  world().during[function] = {during, argument};
}

std::size_t fake_cuda_calls(const char* function) {
  const std::lock_guard lock(world().mutex);
  return world().calls[function];
}

std::size_t fake_cuda_objects() {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  return all.streams.size() + all.events.size() + all.pinned.size() +
         all.pools.size() + all.modules.size() + all.graphs.size() +
         all.launchable.size() + all.memory.allocations();
}

int fake_cuda_put(void* stream, int (*work)(void*), void* argument) {
  return put(static_cast<CuStream>(stream), [=] { return work(argument); });
}

int fake_cuda_put_owned(void* stream, int (*work)(void*), void* argument,
                        void (*release)(void*)) {
  return put(static_cast<CuStream>(stream),
             [work, owned = std::shared_ptr<void>(argument, release)] {
               return work(owned.get());
             });
}

int fake_cuda_is_capturing(void* stream) {
  int state = hvd::device::kCuNotCapturing;
  cuStreamIsCapturing(static_cast<CuStream>(stream), &state);
  return state != hvd::device::kCuNotCapturing ? 1 : 0;
}

void* fake_cuda_touch(const void* memory, std::size_t bytes, int* device) {
  const auto place =
      world().memory.find(reinterpret_cast<std::uintptr_t>(memory), bytes);
  if (!place) return nullptr;
  *device = place->device;
  return place->visible;
}

int fake_cuda_current_device() {
  return current.empty() ? -1 : current.back()->device;
}

void fake_cuda_wait_for_device(int device) { wait_for_all_work_of(device); }

int fake_cuda_has_gone() { return world().has_gone.load() ? 1 : 0; }

unsigned long long fake_cuda_allocate_for_nccl(std::size_t bytes) {
  return current.empty()
             ? 0
             : world().memory.allocate(bytes, current.back()->device,
                                       DeviceMemory::Kind::kOfNccl);
}

int fake_cuda_free_for_nccl(unsigned long long memory) {
  if (current.empty()) return kInvalidContext;
  wait_for_all_work();
  return world().memory.free(memory) ? kSuccess : kInvalidValue;
}

CuResult cuInit(unsigned) {
  return world().devices > 0 ? failure_of("cuInit") : kNoDevice;
}

CuResult cuDriverGetVersion(int* version) {
  *version = number_from_environment("FAKE_CUDA_VERSION", 13000);
  return kSuccess;
}

CuResult cuGetErrorName(CuResult result, const char** name) {
  switch (result) {
    case kOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case kInvalidContext:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      break;
    case kInvalidHandle:
      *name = "CUDA_ERROR_INVALID_HANDLE";
      break;
    case kIllegalAddress:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case kCaptureUnsupported:
      *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
      break;
    case kCaptureInvalidated:
      *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
      break;
    case kCaptureUnjoined:
      *name = "CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
      break;
    case kCapturedEvent:
      *name = "CUDA_ERROR_CAPTURED_EVENT";
      break;
    default:
      *name = "CUDA_ERROR_OF_THE_STAND_IN";
  }
  return kSuccess;
}

CuResult cuGetErrorString(CuResult, const char** text) {
  *text = "as the fake sees it";
  return kSuccess;
}

CuResult cuDeviceGetCount(int* count) {
  *count = world().devices;
  return kSuccess;
}

CuResult cuDeviceGet(CuDevice* device, int ordinal) {
  if (ordinal < 0 || ordinal >= world().devices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CuResult cuDeviceGetName(char* name, int length, CuDevice device) {
  const std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(length));
  return kSuccess;
}

// Processes of a machine see the same GPUs.
CuResult cuDeviceGetUuid(hvd::device::CuUuid* uuid, CuDevice device) {
  if (device < 0 || device >= world().devices) return kInvalidDevice;
  *uuid = {"fake GPU"};
  uuid->bytes[15] = static_cast<char>(device);
  return kSuccess;
}

CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  if (device < 0 || device >= world().devices) return kInvalidDevice;
  *context = world().contexts[static_cast<std::size_t>(device)].get();
  return failure_of("cuDevicePrimaryCtxRetain");
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) { return kSuccess; }

CuResult cuCtxPushCurrent_v2(CuContext context) {
  if (world().has_gone.load()) return kDeinitialized;
  if (context == nullptr || current.full()) return kInvalidContext;
  current.push_back(context);
  return kSuccess;
}

CuResult cuCtxPopCurrent_v2(CuContext* context) {
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}

CuResult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (current.empty()) return kInvalidContext;
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

CuResult cuStreamCreateWithPriority(CuStream* stream, unsigned flags, int) {
  if (current.empty()) return kInvalidContext;
  constexpr unsigned kOrdered = 0;
  if (flags != hvd::device::kCuStreamNonBlocking && flags != kOrdered) {
    return kInvalidValue;
  }
  if (const CuResult failure = failure_of("cuStreamCreateWithPriority")) {
    return failure;
  }
  *stream = new hvd::device::CuStreamOfDriver{
      std::make_shared<Stream>(current.back()->device), flags == kOrdered};
  const std::lock_guard lock(world().mutex);
  world().streams.insert(*stream);
  return kSuccess;
}

CuResult cuStreamDestroy_v2(CuStream stream) {
  if (current.empty()) return kInvalidContext;
  World& all = world();
  // Their threads end after the lock is released.
  std::vector<std::shared_ptr<Stream>> ended;
  const std::lock_guard lock(all.mutex);
  if (all.streams.erase(stream) == 0) return kInvalidHandle;
  all.ending.push_back(std::move(stream->stream));
  delete stream;
  const auto idle = std::stable_partition(
      all.ending.begin(), all.ending.end(),
      [](const auto& ending) { return !ending->is_idle(); });
  ended.assign(idle, all.ending.end());
  all.ending.erase(idle, all.ending.end());
  return kSuccess;
}

CuResult cuStreamSynchronize(CuStream stream) {
  if (current.empty()) return kInvalidContext;
  if (fake_cuda_is_capturing(stream) != 0) return kCaptureUnsupported;
  const auto queue = queue_of(stream);
  return queue == nullptr ? kInvalidHandle : queue->synchronize();
}

CuResult cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned) {
  if (current.empty()) return kInvalidContext;
  const auto queue = queue_of(stream);
  const auto awaited = event_of(event);
  if (queue == nullptr || awaited == nullptr) return kInvalidHandle;
  if (const CuResult forbidden = implicit(stream)) return forbidden;
  if (const auto captured = await_captured(stream, event)) return *captured;
  queue->put([awaited, recording = awaited->last()] {
    awaited->wait(recording);
    return kSuccess;
  });
  return kSuccess;
}

CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult failure = failure_of("cuEventCreate")) return failure;
  const bool shared = (flags & hvd::device::kCuEventInterprocess) != 0;
  if (shared && (flags & hvd::device::kCuEventDisableTiming) == 0) {
    return kInvalidValue;
  }
  std::shared_ptr<Event> made =
      shared ? SharedEvent::create() : std::make_shared<Event>();
  if (made == nullptr) return kOutOfMemory;
  *event =
      new hvd::device::CuEventOfDriver{std::move(made), current.back()->device};
  const std::lock_guard lock(world().mutex);
  world().events.insert(*event);
  return kSuccess;
}

CuResult cuEventDestroy_v2(CuEvent event) {
  if (current.empty()) return kInvalidContext;
  const std::lock_guard lock(world().mutex);
  if (world().events.erase(event) == 0) return kInvalidHandle;
  delete event;
  return kSuccess;
}

CuResult cuEventRecord(CuEvent event, CuStream stream) {
  if (current.empty()) return kInvalidContext;
  const auto queue = queue_of(stream);
  const auto recorded = event_of(event);
  if (queue == nullptr || recorded == nullptr) return kInvalidHandle;
  if (event->device != queue->device()) return kInvalidHandle;
  if (const CuResult forbidden = implicit(stream)) return forbidden;
  if (const auto captured = record_captured(event, stream)) return *captured;
  queue->put([recorded, recording = recorded->begin()] {
    recorded->happen(recording);
    return kSuccess;
  });
  return kSuccess;
}

CuResult cuEventQuery(CuEvent event) {
  if (current.empty()) return kInvalidContext;
  const auto asked = event_of(event);
  if (asked == nullptr) return kInvalidHandle;
  if (is_captured(event)) return kCapturedEvent;
  if (const CuResult forbidden = unsafe()) return forbidden;
  return asked->has_completed(asked->last()) ? kSuccess : kNotReady;
}

CuResult cuEventSynchronize(CuEvent event) {
  if (current.empty()) return kInvalidContext;
  const auto awaited = event_of(event);
  if (awaited == nullptr) return kInvalidHandle;
  if (is_captured(event)) return kCapturedEvent;
  if (const CuResult forbidden = unsafe()) return forbidden;
  awaited->wait(awaited->last());
  return kSuccess;
}

CuResult cuMemAlloc_v2(CuAddress* memory, std::size_t bytes) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  if (const CuResult failure = failure_of("cuMemAlloc_v2")) return failure;
  *memory = world().memory.allocate(bytes, current.back()->device);
  return *memory == 0 ? kOutOfMemory : kSuccess;
}

CuResult cuMemFree_v2(CuAddress memory) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  const auto place = world().memory.find(memory, 0);
  const bool is_of_nccl = place && place->kind == DeviceMemory::Kind::kOfNccl;
  if (!place || is_of_nccl) return kInvalidValue;
  // Like CUDA, does not wait before it frees pool memory.
  if (place->kind == DeviceMemory::Kind::kPlain) wait_for_all_work();
  return world().memory.free(memory) ? kSuccess : kInvalidValue;
}

CuResult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current.empty()) return kInvalidContext;
  constexpr std::size_t kTotal = std::size_t{1} << 36;
  const std::size_t used = world().memory.bytes_of(current.back()->device);
  *total = kTotal;
  *free = used < kTotal ? kTotal - used : 0;
  return kSuccess;
}

CuResult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  if (const CuResult failure = failure_of("cuMemHostAlloc")) return failure;
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return kOutOfMemory;
  const std::lock_guard lock(world().mutex);
  world().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = {
      bytes, current.back()->device};
  world().allocated.insert(*memory);
  return kSuccess;
}

CuResult cuMemFreeHost(void* memory) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  wait_for_all_work();
  const std::lock_guard lock(world().mutex);
  if (world().allocated.erase(memory) == 0) return kInvalidValue;
  world().pinned.erase(reinterpret_cast<std::uintptr_t>(memory));
  std::free(memory);
  return kSuccess;
}

CuResult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  if (const CuResult failure = failure_of("cuMemHostRegister_v2")) {
    return failure;
  }
  const std::lock_guard lock(world().mutex);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) return kInvalidValue;
  // Whole pages are pinned, each once.
  constexpr std::uintptr_t kPage = 4096;
  for (const auto& [other, pinned] : world().pinned) {
    const bool is_apart = (begin + bytes - 1) / kPage < other / kPage ||
                          (other + pinned.bytes - 1) / kPage < begin / kPage;
    const bool is_registered =
        world().allocated.count(reinterpret_cast<void*>(other)) == 0;
    if (is_registered && !is_apart) return kHostMemoryAlreadyRegistered;
  }
  world().pinned[begin] = {bytes, current.back()->device};
  return kSuccess;
}

CuResult cuMemHostUnregister(void* memory) {
  if (current.empty()) return kInvalidContext;
  if (const CuResult forbidden = unsafe()) return forbidden;
  wait_for_all_work();
  const std::lock_guard lock(world().mutex);
  if (world().allocated.count(memory) > 0) return kInvalidValue;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return world().pinned.erase(begin) > 0 ? kSuccess : kHostMemoryNotRegistered;
}

CuResult cuMemcpyAsync(CuAddress to, CuAddress from, std::size_t bytes,
                       CuStream stream) {
  if (current.empty()) return kInvalidContext;
  const CuResult failure = failure_of("cuMemcpyAsync");
  const auto copy_from = [=](const std::byte* source) {
    if (failure != kSuccess) return failure;
    std::byte* const target = place_of(to, bytes);
    if (target == nullptr || source == nullptr) return kIllegalAddress;
    std::memmove(target, source, bytes);
    return kSuccess;
  };
  const auto copy = [=] { return copy_from(place_of(from, bytes)); };
  if (fake_cuda_is_capturing(stream) != 0 || !blocks(to, from, bytes)) {
    return put(stream, copy);
  }
  const auto queue = queue_of(stream);
  if (queue == nullptr) return kInvalidHandle;
  if (world().memory.knows(to) && bytes <= kStagedAtOnce) {
    const auto* const begin = reinterpret_cast<const std::byte*>(from);
    auto staged =
        std::make_shared<const std::vector<std::byte>>(begin, begin + bytes);
    return put(stream, [=] { return copy_from(staged->data()); });
  }
  queue->put_and_wait(copy);
  return kSuccess;
}

// Pinned memory has a device, too. Unknown memory has type 0.
CuResult cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                                CuAddress memory) {
  if (const CuResult failure = failure_of("cuPointerGetAttributes")) {
    return failure;
  }
  const auto place = world().memory.find(memory, 0);
  const std::optional<int> pinned =
      place ? std::nullopt : device_of_pinned(memory);
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == hvd::device::kCuPointerMemoryType) {
      *static_cast<unsigned*>(values[i]) =
          place    ? hvd::device::kCuMemoryOfDevice
          : pinned ? hvd::device::kCuMemoryOfHost
                   : 0;
    } else if (attributes[i] == hvd::device::kCuPointerDeviceOrdinal) {
      *static_cast<int*>(values[i]) =
          place ? place->device : pinned.value_or(-2);
    } else {
      return kInvalidValue;
    }
  }
  return kSuccess;
}

}  // extern "C"
