// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/tensor_gpu.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/device/tensors/block_cache.h"
#include "horovodpp/device/tensors/pinned_cache.h"
#include "horovodpp/device/tensors/tensor_kernels.h"

namespace hvd::device {
namespace {

void check(const absl::Status& status) { throw_if_error(status); }

CuStream queue(void* stream) { return static_cast<CuStream>(stream); }

constexpr int kMostGpus = 64;

// Of the GPUs that tensors have used.
struct Known {
  Mutex mutex;
  std::atomic<TensorGpu*> gpus[kMostGpus] = {};
  std::atomic<bool> has_pinned{false};
};

Known& known() {
  static Known* const instance = new Known;
  return *instance;
}

PinnedCache& pinned_cache() {
  static PinnedCache* const cache = [] {
    CudaDriver* const cuda = value_or_throw(Gpus::of_process().driver());
    return new PinnedCache(value_or_throw(cuda->context(0)));
  }();
  return *cache;
}

class DriversGpu final : public TensorGpu {
 public:
  explicit DriversGpu(const CudaContext& context)
      : context_(context), memory_(context) {}

  void* allocate(std::size_t bytes, void* stream) override {
    if (stream != nullptr) uses_streams_.store(true);
    return value_or_throw(memory_.allocate(bytes, queue(stream)));
  }
  void release(void* memory) noexcept override {
    memory_.release(static_cast<std::byte*>(memory));
  }
  // While all work is in the default stream, there is nothing to note.
  void note_use(const void* memory, void* stream) override {
    if (stream != nullptr) uses_streams_.store(true);
    if (uses_streams_.load()) check(memory_.note_use(memory, queue(stream)));
  }
  GpuMemoryStats memory_stats() const override { return memory_.stats(); }
  void reset_peaks() override { memory_.reset_peaks(); }
  void empty_cache() override { memory_.empty(); }

  void copy_from_host(void* to, const void* from, std::size_t bytes,
                      void* stream) override {
    enqueue(to, from, bytes, stream);
    note_use(to, stream);
    if (is_pinned(from)) {
      check(pinned_cache().note_use(from, context_, queue(stream)));
    }
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes,
                    void* stream) override {
    enqueue(to, from, bytes, stream);
    note_use(from, stream);
    if (is_pinned(to)) {
      check(pinned_cache().note_use(to, context_, queue(stream)));
    } else {
      synchronize(stream);
    }
  }
  void copy(void* to, const void* from, std::size_t bytes,
            void* stream) override {
    enqueue(to, from, bytes, stream);
    note_use(to, stream);
    note_use(from, stream);
  }
  void copy_to(TensorGpu& other, void* to, const void* from, std::size_t bytes,
               void* stream, void* stream_of_other) override {
    auto& there = static_cast<DriversGpu&>(other);
    const CudaEvent room = value_or_throw(
        CudaEvent::after(there.context_, queue(stream_of_other)));
    check(room.hold_up(queue(stream)));
    enqueue(to, from, bytes, stream);
    note_use(from, stream);
    const CudaEvent done =
        value_or_throw(CudaEvent::after(context_, queue(stream)));
    check(there.hold_up(stream_of_other, done));
    there.note_use(to, stream_of_other);
  }

  void run(const char* kernel, const kernels::ElementsArguments& arguments,
           void* stream) override {
    check(loaded_kernels().launch(kernel, arguments, queue(stream)));
    for (const void* const memory : arguments.memory) note_use(memory, stream);
  }

  void synchronize(void* stream) override {
    const CurrentContext current(context_);
    check(current.status());
    check(status_of(*context_.api,
                    context_.api->cuStreamSynchronize(queue(stream)),
                    "cuStreamSynchronize"));
  }
  void order_behind(void* other, void* stream) override {
    const CudaEvent event =
        value_or_throw(CudaEvent::after(context_, queue(other)));
    check(event.hold_up(queue(stream)));
  }

 private:
  void enqueue(void* to, const void* from, std::size_t bytes, void* stream) {
    if (bytes == 0) return;
    const CurrentContext current(context_);
    check(current.status());
    check(
        status_of(*context_.api,
                  context_.api->cuMemcpyAsync(reinterpret_cast<CuAddress>(to),
                                              reinterpret_cast<CuAddress>(from),
                                              bytes, queue(stream)),
                  "cuMemcpyAsync"));
  }
  const TensorKernels& loaded_kernels() {
    if (const TensorKernels* const all = kernels_.load()) return *all;
    const MutexLock lock(loading_);
    if (kernels_.load() == nullptr) {
      kernels_.store(value_or_throw(TensorKernels::load(context_)).release());
    }
    return *kernels_.load();
  }
  // Puts a stream of this GPU behind an event of any.
  absl::Status hold_up(void* stream, const CudaEvent& event) const {
    const CurrentContext current(context_);
    HVD_RETURN_IF_ERROR(current.status());
    return status_of(
        *context_.api,
        context_.api->cuStreamWaitEvent(queue(stream), event.handle(), 0),
        "cuStreamWaitEvent");
  }

  const CudaContext context_;
  BlockCache memory_;
  Mutex loading_;
  std::atomic<const TensorKernels*> kernels_{nullptr};
  // Whether a tensor has used another stream than the default.
  std::atomic<bool> uses_streams_{false};
};

}  // namespace

TensorGpu& TensorGpu::of(int index) {
  Known& all = known();
  if (index < 0 || index >= kMostGpus) {
    throw InvalidArgument("there is no GPU " + std::to_string(index) +
                          "; GPUs have numbers from 0 on");
  }
  auto& place = all.gpus[index];
  if (TensorGpu* const made = place.load(std::memory_order_acquire)) {
    return *made;
  }
  CudaDriver* const cuda = value_or_throw(Gpus::of_process().driver());
  const CudaContext context = value_or_throw(cuda->context(index));
  const MutexLock lock(all.mutex);
  if (place.load() == nullptr) {
    place.store(new DriversGpu(context), std::memory_order_release);
  }
  return *place.load();
}

void* pinned_allocate(std::size_t bytes) {
  void* const memory = value_or_throw(pinned_cache().allocate(bytes));
  known().has_pinned.store(true);
  return memory;
}

void pinned_release(void* memory) noexcept {
  if (memory == nullptr) return;
  pinned_cache().release(static_cast<std::byte*>(memory));
}

bool is_pinned(const void* memory) {
  return known().has_pinned.load() && pinned_cache().holds(memory);
}

PinnedStats pinned_stats() {
  const PinnedCache::Stats stats = pinned_cache().stats();
  return {.current_bytes = stats.current_bytes, .peak_bytes = stats.peak_bytes};
}

void reset_pinned_peak() { pinned_cache().reset_peak(); }

void empty_pinned_cache() { pinned_cache().empty(); }

}  // namespace hvd::device
