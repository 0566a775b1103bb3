// SPDX-License-Identifier: Apache-2.0
// The operation results that a region with a policy (policy.h) keeps, and the
// names of all operations, which the recomputation must repeat in order.
//
// One thread fills it, during forward; afterwards any thread may take results.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/checkpoint/policies/offload_pool.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/checkpoint/policies/policy.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class KeptResults {
 public:
  // `options` has a policy and outlives this object. Memory older than `mark`
  // comes from outside the region.
  KeptResults(const CheckpointOptions& options, std::uint64_t mark)
      : options_(options), mark_(mark) {}

  // --- During forward ---
  // begins() precedes each operation; made() follows if the operation succeeds.
  // Otherwise as in OperationObserver.
  void begins(const char* operation);
  void made(const OperationResults& results);
  void named(const Tensor& tensor, std::string_view name);
  // Ends forward.
  void finish() { set_last({}); }
  // Whether a policy demands that this memory be recomputed.
  bool is_never_kept(const Tensor& tensor) const {
    return never_kept_.contains(tensor.impl()->storage.get());
  }

  // --- During a recomputation ---
  const std::vector<const char*>& operations() const { return operations_; }
  struct Recalled {
    OperationResults results;
    Generator::State random;  // The state after the operation.
  };
  // The results of the operation at `place`; null if not kept. Frees them
  // unless they are needed `again`.
  //   CheckpointError  they were modified since
  std::unique_ptr<Recalled> recall(std::size_t place, bool again);

  // --- For a memory budget ---
  // Adds the number of references that this object holds to each memory.
  void count(absl::flat_hash_map<const Storage*, std::uint32_t>& counts) const;
  // Drops the results that the policies allow to drop.
  void drop(std::vector<Tensor>& dropped);

 private:
  struct Kept {
    std::size_t place = 0;
    CheckpointPolicy policy = CheckpointPolicy::kMustSave;
    std::vector<Tensor> tensors = {};
    std::vector<std::uint32_t> versions = {};
    // Set instead of a tensor that was moved to a pool.
    std::vector<std::shared_ptr<OffloadPool::Item>> moved = {};
    std::any note = {};
    Generator::State random = {};
  };

  void set_last(OperationResults results);
  void decide(std::string_view name);
  void keep_last(CheckpointPolicy policy);
  // Returns false if a tensor does not fit.
  bool move_to_pool(Kept& kept) const;
  std::vector<Kept>::iterator find(std::size_t place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  const CheckpointOptions& options_;
  const std::uint64_t mark_;
  std::vector<const char*> operations_;
  // Results of the last operation; may be empty. Set under the lock, since
  // count() reads them on other threads.
  OperationResults last_;
  Generator::State last_random_;  // After that operation.
  absl::flat_hash_set<const Storage*> never_kept_;
  mutable SpinLock lock_;
  std::vector<Kept> kept_ ABSL_GUARDED_BY(lock_);  // Sorted by place.
};

}  // namespace hvd::autograd
