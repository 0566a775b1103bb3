// SPDX-License-Identifier: Apache-2.0
// A TensorGpu is one GPU as tensors use it: their memory, copies, and kernels.
// All work goes into the stream that a call names (a cudaStream_t; nullptr: the
// legacy default stream), and the host does not wait for it.
//
//   TensorGpu& gpu = TensorGpu::of(0);
//   void* memory = gpu.allocate(bytes, stream);
//   gpu.copy_from_host(memory, values, bytes, stream);
//   gpu.synchronize(stream);
//   gpu.release(memory);
//
// Every function that does not say otherwise throws hvd::Error (Internal) with
// the driver's words if the driver fails. Thread-safe; lives forever.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/device/tensors/gpu_memory_stats.h"

namespace HVD_EXPORT hvd {
namespace device {

namespace kernels {
struct ElementsArguments;
}

class TensorGpu {
 public:
  // Loads the driver at the first call.
  //   hvd::Error (NotFound, FailedPrecondition)  there is no driver or no GPU
  //   hvd::Error (InvalidArgument)               there is no GPU `index`
  static TensorGpu& of(int index);
  virtual ~TensorGpu() = default;

  // Memory for later work in `stream`, aligned to 512 bytes.
  //   hvd::Error (ResourceExhausted)  there is not enough memory
  virtual void* allocate(std::size_t bytes, void* stream) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Work in `stream` that has been enqueued by now uses `memory`. Needed if the
  // memory was allocated for another stream.
  virtual void note_use(const void* memory, void* stream) = 0;
  virtual GpuMemoryStats memory_stats() const = 0;
  virtual void reset_peaks() = 0;
  // Returns spare memory to the GPU.
  virtual void empty_cache() = 0;

  // Copies that are enqueued. Pageable host memory may be written or reused when
  // copy_from_host() returns; copy_to_host() returns when it has the result.
  // Pinned memory of pinned_allocate() is used by the GPU later, and is not
  // reused before.
  virtual void copy_from_host(void* to, const void* from, std::size_t bytes,
                              void* stream) = 0;
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes,
                            void* stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes,
                    void* stream) = 0;
  // To memory of `other`, behind all work in `stream` and in `stream_of_other`;
  // later work in both runs behind the copy.
  virtual void copy_to(TensorGpu& other, void* to, const void* from,
                       std::size_t bytes, void* stream,
                       void* stream_of_other) = 0;

  // Enqueues a kernel of device/kernels/tensor_names.h. Loads the kernels at the
  // first call, for which a driver may compile them.
  virtual void run(const char* kernel,
                   const kernels::ElementsArguments& arguments,
                   void* stream) = 0;

  // Waits until all work in `stream` is done.
  virtual void synchronize(void* stream) = 0;
  // Later work in `stream` runs behind the work that `other` has now.
  virtual void order_behind(void* other, void* stream) = 0;
};

// Pinned host memory, for all GPUs; nullptr for 0 bytes.
//   hvd::Error (ResourceExhausted)  the host cannot pin so much
//   (errors)                        of TensorGpu::of(0)
void* pinned_allocate(std::size_t bytes);
void pinned_release(void* memory) noexcept;
bool is_pinned(const void* memory);
// As tensors asked for it: now, and at most.
struct PinnedStats {
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;
};
PinnedStats pinned_stats();
void reset_pinned_peak();
// Returns spare pinned memory to the system.
void empty_pinned_cache();

}  // namespace device
}  // namespace hvd
