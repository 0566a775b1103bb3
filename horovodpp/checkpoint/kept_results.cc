// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/kept_results.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/tensor/tensor_copy.h"

namespace hvd::autograd {
namespace {

const Storage* storage_of(const Tensor& tensor) {
  return tensor.impl()->storage.get();
}

}  // namespace

void KeptResults::begins(const char* operation) {
  operations_.push_back(operation);
  set_last({});
}

void KeptResults::made(const OperationResults& results) {
  OperationResults made{.tensors = {}, .note = results.note};
  for (const Tensor& tensor : results.tensors) {
    made.tensors.push_back(bare(tensor));
    if (tensor.defined()) never_kept_.erase(storage_of(tensor));
  }
  set_last(std::move(made));
  last_random_ = default_generator().state();
  if (!results.tensors.empty()) decide("");
}

void KeptResults::set_last(OperationResults results) {
  SpinLockHolder lock(lock_);
  std::swap(last_, results);  // The old results are freed after the lock.
}

void KeptResults::named(const Tensor& tensor, std::string_view name) {
  const bool is_last = std::any_of(
      last_.tensors.begin(), last_.tensors.end(), [&](const Tensor& result) {
        return result.defined() && storage_of(result) == storage_of(tensor);
      });
  if (is_last) return decide(name);
  if (tensor.impl()->storage->is_older_than(mark_)) return;
  const CheckpointPolicy policy =
      options_.policy({.operation = "",
                       .name = name,
                       .result = tensor,
                       .position = operations_.size()});
  if (policy == CheckpointPolicy::kPreferRecompute ||
      policy == CheckpointPolicy::kMustRecompute) {
    return;
  }
  throw CheckpointError(absl::StrCat(
      "checkpoint_name: '", std::string(name), "', ", tensor.describe(),
      ", shall be kept, but is no result of the operation that came last, ",
      operations_.empty() ? "for there was none" : operations_.back(),
      "; name a result before the next operation computes"));
}

void KeptResults::decide(std::string_view name) {
  const std::size_t place = operations_.size() - 1;
  const CheckpointPolicy policy =
      options_.policy({.operation = operations_.back(),
                       .name = name,
                       .result = last_.tensors[0],
                       .position = place});
  if (!name.empty() && policy == CheckpointPolicy::kPreferRecompute) return;
  Kept replaced;  // Freed after the lock.
  {
    SpinLockHolder lock(lock_);
    const auto found = find(place);
    if (found != kept_.end()) {
      replaced = std::move(*found);
      kept_.erase(found);
    }
  }
  switch (policy) {
    case CheckpointPolicy::kPreferRecompute:
      return;
    case CheckpointPolicy::kMustRecompute:
      for (const Tensor& tensor : last_.tensors) {
        if (tensor.defined()) never_kept_.insert(storage_of(tensor));
      }
      return;
    default:
      keep_last(policy);
  }
}

void KeptResults::keep_last(CheckpointPolicy policy) {
  Kept kept{.place = operations_.size() - 1,
            .policy = policy,
            .tensors = last_.tensors,
            .note = last_.note,
            .random = last_random_};
  const bool moves = policy == CheckpointPolicy::kMustOffload ||
                     policy == CheckpointPolicy::kPreferOffload;
  if (moves && !move_to_pool(kept)) return;
  for (Tensor& tensor : kept.tensors) {
    if (!tensor.defined()) {
      kept.versions.push_back(0);
      continue;
    }
    if (options_.keep_copies) tensor = copy_of(tensor, cpu_allocator());
    kept.versions.push_back(tensor.version());
  }
  SpinLockHolder lock(lock_);
  kept_.push_back(std::move(kept));
}

bool KeptResults::move_to_pool(Kept& kept) const {
  OffloadPool& pool = options_.offload_pool != nullptr
                          ? *options_.offload_pool
                          : OffloadPool::of_process();
  const bool must = kept.policy == CheckpointPolicy::kMustOffload;
  for (Tensor& tensor : kept.tensors) {
    if (!tensor.defined()) {
      kept.moved.push_back(nullptr);
      continue;
    }
    kept.moved.push_back(must ? pool.store(tensor) : pool.try_store(tensor));
    if (kept.moved.back() == nullptr) return false;
    tensor = Tensor();
  }
  return true;
}

std::vector<KeptResults::Kept>::iterator KeptResults::find(std::size_t place) {
  const auto found = std::lower_bound(
      kept_.begin(), kept_.end(), place,
      [](const Kept& kept, std::size_t wanted) { return kept.place < wanted; });
  return found != kept_.end() && found->place == place ? found : kept_.end();
}

std::unique_ptr<KeptResults::Recalled> KeptResults::recall(std::size_t place,
                                                           bool again) {
  Kept kept;
  {
    SpinLockHolder lock(lock_);
    const auto found = find(place);
    if (found == kept_.end()) return nullptr;
    if (again) {
      kept = *found;
    } else {
      kept = std::move(*found);
      kept_.erase(found);
    }
  }
  auto recalled = std::make_unique<Recalled>();
  recalled->random = kept.random;
  recalled->results.note = std::move(kept.note);
  for (std::size_t i = 0; i < kept.tensors.size(); ++i) {
    Tensor& tensor = kept.tensors[i];
    if (!kept.moved.empty() && kept.moved[i] != nullptr) {
      tensor = kept.moved[i]->take();
    } else if (tensor.defined()) {
      if (tensor.version() != kept.versions[i]) {
        throw CheckpointError(absl::StrCat(
            "checkpoint: a ", tensor.describe(),
            " that a policy kept, a result "
            "of ",
            operations_[place], ", operation ", place,
            ", has been mutated since: version ", kept.versions[i], " → ",
            tensor.version(),
            ". Keep the result of the write, or let the options keep_copies"));
      }
      // The function may write to a copy, so each recall needs its own.
      tensor = again && options_.keep_copies ? copy_of(tensor, cpu_allocator())
                                             : bare(tensor);
    }
    recalled->results.tensors.push_back(std::move(tensor));
  }
  return recalled;
}

void KeptResults::count(
    absl::flat_hash_map<const Storage*, std::uint32_t>& counts) const {
  const auto add = [&](const Tensor& tensor) {
    if (tensor.defined()) ++counts[storage_of(tensor)];
  };
  SpinLockHolder lock(lock_);
  for (const Tensor& tensor : last_.tensors) add(tensor);
  for (const Kept& kept : kept_) {
    if (kept.policy != CheckpointPolicy::kPreferSave) continue;
    for (const Tensor& tensor : kept.tensors) add(tensor);
  }
}

void KeptResults::drop(std::vector<Tensor>& dropped) {
  SpinLockHolder lock(lock_);
  std::erase_if(kept_, [&](Kept& kept) {
    if (kept.policy != CheckpointPolicy::kPreferSave) return false;
    for (Tensor& tensor : kept.tensors) dropped.push_back(std::move(tensor));
    return true;
  });
}

}  // namespace hvd::autograd
