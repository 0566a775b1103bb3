// SPDX-License-Identifier: Apache-2.0
// A rank's program with tensors on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/support/test_gpus.h"

namespace hvd {

// The path of tensors: NCCL, with a GPU for each rank; or IPC or staging
// through the host, with two ranks per GPU.
enum class Way { kNccl, kIpc, kStaged };

inline Config gpu_config(Way way) {
  testing::TestGpus::set_delay(300);
  testing::TestGpus::set_nccl_delay(100);
  Config config;
  config.cuda_library = testing::TestGpus::cuda_library();
  config.nccl_library = testing::TestGpus::nccl_library();
  const bool by_nccl = way == Way::kNccl;
  config.by_nccl = {by_nccl, by_nccl, by_nccl, by_nccl, by_nccl};
  config.cuda_ipc = way == Way::kIpc;
  device::Gpus::of_process().look_for(config.cuda_library);
  return config;
}

// Whether ranks as threads can use this path: NCCL needs a GPU for each rank.
inline bool can_go(Way way, int ranks) {
  return way != Way::kNccl || ranks <= testing::TestGpus::count();
}

// For work that hangs on a GPU. The timeout is longer than a busy machine
// delays a rank.
inline Config config_that_gives_up(Way way = Way::kNccl) {
  Config config = gpu_config(way);
  config.stall_warning_time = std::chrono::seconds(0);
  config.stall_shutdown_time = std::chrono::seconds(8);
  return config;
}

// A rank's GPU, its own stream, and memory.
class GpuProgram {
 public:
  GpuProgram(int rank, int size, Way way)
      : rank_(rank),
        size_(size),
        way_(way),
        gpu_((way == Way::kNccl ? rank : rank / 2) %
             testing::TestGpus::count()),
        context_(
            device::Gpus::of_process().driver().value()->context(gpu_).value()),
        stream_(device::CudaStream::create(context_).value()) {}

  // Waits for the copies in the stream.
  ~GpuProgram() { EXPECT_TRUE(stream_.synchronize().ok()); }
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  Way way() const { return way_; }
  void* stream() const { return stream_.handle(); }
  device::CudaStream& own_stream() { return stream_; }
  int gpu() const { return gpu_; }

  // Queues the copy in the stream; usually returns before the copy is done.
  template <typename T>
  TensorView put(std::vector<T> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto sent = std::make_shared<std::vector<T>>(std::move(values));
    sent_.push_back(sent);
    return put(sent->data(), dtype_of<T>, Shape({count}));
  }
  TensorView put(const void* values, DType dtype, const Shape& shape) {
    TensorView view(nullptr, dtype, shape, Device::cuda(gpu_));
    memory_.push_back(device::allocate_on(context_, view.bytes()).value());
    view = TensorView(memory_.back().get(), dtype, shape, Device::cuda(gpu_));
    EXPECT_TRUE(stream_.copy(view.data(), values, view.bytes()).ok());
    return view;
  }

  std::vector<float> get(const ConstTensorView& tensor) {
    EXPECT_EQ(tensor.device(), Device::cuda(gpu_));
    std::vector<float> values(static_cast<std::size_t>(tensor.num_elements()));
    // Uses a separate stream: results are visible to all streams.
    device::CudaStream other = device::CudaStream::create(context_).value();
    EXPECT_TRUE(other.copy(values.data(), tensor.data(), tensor.bytes()).ok());
    EXPECT_TRUE(other.synchronize().ok());
    return values;
  }

 private:
  const int rank_;
  const int size_;
  const Way way_;
  const int gpu_;
  const device::CudaContext context_;
  device::CudaStream stream_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<std::shared_ptr<const void>> sent_;
};

}  // namespace hvd
