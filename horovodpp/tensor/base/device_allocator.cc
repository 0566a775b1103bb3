// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/device_allocator.h"

#include <map>

#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/tensors/tensor_gpu.h"
#include "horovodpp/tensor/base/stream_scope.h"

namespace hvd {
namespace autograd {
namespace {

class CudaAllocator final : public Allocator {
 public:
  explicit CudaAllocator(int index)
      : device_(Device::cuda(index)), gpu_(device::TensorGpu::of(index)) {}

  void* allocate(std::size_t bytes) override {
    return gpu_.allocate(bytes, StreamScope::current(device_));
  }
  void deallocate(void* memory, std::size_t) noexcept override {
    gpu_.release(memory);
  }
  Device device() const override { return device_; }
  MemoryStats stats() const override {
    const GpuMemoryStats stats = gpu_.memory_stats();
    return {.current_bytes = stats.allocated_bytes,
            .peak_bytes = stats.peak_allocated_bytes};
  }
  void reset_peak() override { gpu_.reset_peaks(); }

 private:
  const Device device_;
  device::TensorGpu& gpu_;
};

class PinnedAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes) override {
    return device::pinned_allocate(bytes);
  }
  void deallocate(void* memory, std::size_t) noexcept override {
    device::pinned_release(memory);
  }
  Device device() const override { return Device::cpu(); }
  MemoryStats stats() const override {
    const device::PinnedStats stats = device::pinned_stats();
    return {.current_bytes = stats.current_bytes,
            .peak_bytes = stats.peak_bytes};
  }
  void reset_peak() override { device::reset_pinned_peak(); }
};

}  // namespace

Allocator& allocator_of_gpu(int index) {
  static Mutex* const mutex = new Mutex;
  static auto* const all = new std::map<int, CudaAllocator>;
  const MutexLock lock(*mutex);
  const auto found = all->find(index);
  if (found != all->end()) return found->second;
  return all->try_emplace(index, index).first->second;
}

Allocator& pinned_allocator() {
  static auto* const allocator = new PinnedAllocator;
  return *allocator;
}

}  // namespace autograd

namespace {

device::TensorGpu& gpu_of(Device device) {
  if (device.is_cpu()) {
    throw InvalidArgument(
        "the CPU is no GPU: name one with hvd::Device::cuda(index)");
  }
  return device::TensorGpu::of(device.index);
}

}  // namespace

GpuMemoryStats gpu_memory_stats(Device device) {
  return gpu_of(device).memory_stats();
}

void reset_peak_gpu_memory(Device device) { gpu_of(device).reset_peaks(); }

void empty_gpu_cache(Device device) { gpu_of(device).empty_cache(); }

}  // namespace hvd
