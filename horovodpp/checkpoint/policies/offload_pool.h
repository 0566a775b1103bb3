// SPDX-License-Identifier: Apache-2.0
// An OffloadPool is memory apart from tensor memory. Tensors that backward
// needs move there after forward, and come back in time:
//
//   hvd::OffloadPool pool({.bytes = std::int64_t{8} << 30});
//   {
//     hvd::Offload offload(pool);       // offload.h; or a policy, policy.h
//     loss = model(images);
//   }
//   loss.backward();
//
// Backward needs tensors in reverse order of saving. When a tensor is taken
// from the pool, the pool's thread therefore prefetches those stored just
// before it. An error of the thread, such as lack of memory, is thrown where
// the tensor is taken.
//
// Thread-safe. Stored tensors may outlive the pool; they are then fetched on
// demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct OffloadPoolOptions {
  // Capacity of the pool.
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  // Number of tensors to prefetch; 0: none, and no thread. Each takes up tensor
  // memory until it is needed.
  std::size_t prefetch = 2;
  // Allocates the pool's memory; outlives the pool's tensors.
  autograd::Allocator* memory = &autograd::host_allocator();
  // Allocates fetched tensors; outlives the pool's tensors.
  autograd::Allocator* tensors = &autograd::cpu_allocator();
};

struct OffloadStats {
  std::int64_t bytes = 0;       // In the pool now.
  std::int64_t peak_bytes = 0;  // The maximum so far.
  std::int64_t stored = 0;      // Tensors moved to the pool so far.
  std::int64_t fetched = 0;     // Tensors taken out so far.
  std::int64_t prefetched = 0;  // Of these, prefetched or being prefetched.
};

class OffloadPool {
 public:
  // A tensor in a pool; removed by the destructor.
  class Item {
   public:
    Item() = default;
    virtual ~Item() = default;
    Item(const Item&) = delete;
    Item& operator=(const Item&) = delete;
    // The tensor, in memory of its own. Starts the prefetch of earlier tensors.
    virtual Tensor take() = 0;
  };

  //   InvalidArgument  `bytes` is negative, or an allocator null
  explicit OffloadPool(const OffloadPoolOptions& options = {});
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  // The default pool, without bounds. Lives forever.
  static OffloadPool& of_process();

  // Copies `tensor` to the pool.
  //   hvd::Error (ResourceExhausted)  the pool, or the system, is out of
  //                                   memory; names the bytes that the pool
  //                                   holds
  std::unique_ptr<Item> store(const Tensor& tensor);
  // As store(); null if the pool is full.
  std::unique_ptr<Item> try_store(const Tensor& tensor);

  OffloadStats stats() const;

 private:
  class State;
  class Stored;
  std::shared_ptr<State> state_;
};

}  // namespace hvd
