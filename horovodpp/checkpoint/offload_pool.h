// SPDX-License-Identifier: Apache-2.0
// An OffloadPool is memory apart from that of tensors, to which what backward
// needs is moved after forward, and from which it comes back in time:
//
//   hvd::OffloadPool pool({.bytes = std::int64_t{8} << 30});
//   {
//     hvd::Offload offload(pool);       // offload.h; or a policy, policy.h
//     loss = model(images);
//   }
//   loss.backward();
//
// Backward needs tensors in the reverse of the order in which they were saved. So
// whenever one is taken out of the pool, a thread of the pool's fetches those that
// were moved there before it. What it throws, such as that there is no memory, is
// thrown where the tensor is taken.
//
// Thread-safe. What was moved to a pool may outlive it, but is then fetched where
// it is needed.
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
  // At most so many bytes are in the pool.
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  // How many tensors are fetched ahead; 0: none, and there is no thread. Each takes
  // up memory of tensors until it is needed.
  std::size_t prefetch = 2;
  // Where it has its memory from; outlives what is in the pool.
  autograd::Allocator* memory = &autograd::host_allocator();
  // Where tensors come back to; lives as long.
  autograd::Allocator* tensors = &autograd::cpu_allocator();
};

struct OffloadStats {
  std::int64_t bytes = 0;       // In the pool now,
  std::int64_t peak_bytes = 0;  // and at most.
  std::int64_t stored = 0;      // Tensors moved to it so far,
  std::int64_t fetched = 0;     // tensors taken out, and those among them that
  std::int64_t prefetched = 0;  // the thread had fetched, or was fetching.
};

class OffloadPool {
 public:
  // A tensor in a pool, until it is destroyed.
  class Item {
   public:
    Item() = default;
    virtual ~Item() = default;
    Item(const Item&) = delete;
    Item& operator=(const Item&) = delete;
    // The tensor, in memory of its own. Has those before it fetched.
    virtual Tensor take() = 0;
  };

  //   InvalidArgument  `bytes` is negative, or an allocator null
  explicit OffloadPool(const OffloadPoolOptions& options = {});
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  // One without bounds, for whoever names no other. Lives for ever.
  static OffloadPool& of_process();

  // Copies `tensor` to the pool.
  //   hvd::Error (ResourceExhausted)  the pool, or the system, has not enough
  //                                   room; says what the pool holds
  std::unique_ptr<Item> store(const Tensor& tensor);
  // The same; null if the pool has not enough room.
  std::unique_ptr<Item> try_store(const Tensor& tensor);

  OffloadStats stats() const;

 private:
  class State;
  class Stored;
  std::shared_ptr<State> state_;
};

}  // namespace hvd
