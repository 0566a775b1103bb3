// SPDX-License-Identifier: Apache-2.0
// What a region with a policy (policy.h) keeps of the results of its operations,
// and the names of all of them, which the recomputation has to repeat in order.
//
// One thread fills it, during forward; after that any thread may take from it.
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
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/checkpoint/offload_pool.h"
#include "horovodpp/checkpoint/options.h"
#include "horovodpp/checkpoint/policy.h"
#include "horovodpp/core/spin_lock.h"
#include "horovodpp/tensor/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class KeptResults {
 public:
  // `options` has a policy and outlives this. `mark`: older memory comes from
  // outside of the region.
  KeptResults(const CheckpointOptions& options, std::uint64_t mark)
      : options_(options), mark_(mark) {}

  // --- During forward ---
  // An operation is about to compute, which it may fail to do; then it has made
  // these. Otherwise as of OperationObserver.
  void begins(const char* operation);
  void made(const OperationResults& results);
  void named(const Tensor& tensor, std::string_view name);
  // Forward has ended.
  void finish() { set_last({}); }
  // Whether a policy says that this memory be made again.
  bool is_never_kept(const Tensor& tensor) const {
    return never_kept_.contains(tensor.impl()->storage.get());
  }

  // --- During a recomputation ---
  const std::vector<const char*>& operations() const { return operations_; }
  struct Recalled {
    OperationResults results;
    Generator::State random;  // After the operation.
  };
  // The results of the operation at `place`: none if they are not kept. They are
  // let go of unless they are needed `again`.
  //   CheckpointError  they were written to since
  std::unique_ptr<Recalled> recall(std::size_t place, bool again);

  // --- For a memory budget ---
  // Adds up how often each memory is kept.
  void count(absl::flat_hash_map<const Storage*, std::uint32_t>& counts) const;
  // Lets go of what it may.
  void drop(std::vector<Tensor>& dropped);

 private:
  struct Kept {
    std::size_t place = 0;
    CheckpointPolicy policy = CheckpointPolicy::kMustSave;
    std::vector<Tensor> tensors = {};
    std::vector<std::uint32_t> versions = {};
    // Instead of a tensor, if it was moved to a pool.
    std::vector<std::shared_ptr<OffloadPool::Item>> moved = {};
    std::any note = {};
    Generator::State random = {};
  };

  void set_last(OperationResults results);
  void decide(std::string_view name);
  void keep_last(CheckpointPolicy policy);
  // Whether all of it fits.
  bool move_to_pool(Kept& kept) const;
  std::vector<Kept>::iterator find(std::size_t place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  const CheckpointOptions& options_;
  const std::uint64_t mark_;
  std::vector<const char*> operations_;
  // Of the operation that came last; may be none. Set under the lock, for those
  // who count.
  OperationResults last_;
  Generator::State last_random_;  // After it.
  absl::flat_hash_set<const Storage*> never_kept_;
  mutable SpinLock lock_;
  std::vector<Kept> kept_ ABSL_GUARDED_BY(lock_);  // By place.
};

}  // namespace hvd::autograd
