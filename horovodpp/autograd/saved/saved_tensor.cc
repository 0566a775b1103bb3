// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/saved/saved_tensor.h"

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {
namespace {

std::atomic<std::int64_t> saved_bytes{0};

bool has_grad_fn(const Tensor& tensor) {
  const AutogradMeta* meta = tensor.impl()->meta.get();
  if (meta == nullptr) return false;
  // Another thread may update a stale view meanwhile.
  return meta->base.defined() ? !tensor.is_leaf()
                              : static_cast<bool>(meta->grad_fn);
}

// Makes `copy`, which stands for result `output_nr` of `node`, retain its
// gradient if that result does.
void retain_grad_likewise(const Tensor& copy, const Node& node,
                          std::uint32_t output_nr) {
  NodeHooks* hooks = node.hooks();
  if (hooks == nullptr) return;
  bool retains = false;
  Tensor result;  // Undefined if destroyed.
  {
    SpinLockHolder lock(hooks->retains_lock);
    for (const NodeHooks::Retain& retain : hooks->retains) {
      if (retain.input_nr != output_nr) continue;
      retains = true;
      if (!result.defined()) result = retain.tensor.lock();
    }
  }
  if (!retains) return;
  if (result.defined()) {
    MutexLock lock(hooks->gradients);
    meta_of(copy).grad = meta_of(result).grad;
  }
  copy.retain_grad();
}

}  // namespace

void throw_graph_freed(const Node& node) {
  throw GraphFreedError(absl::StrCat(
      "Trying to backward through the graph a second time: what ", node.name(),
      " saved was freed after the first time. Use retain_graph in the first "
      "backward to keep it"));
}

std::int64_t saved_tensor_bytes() {
  return saved_bytes.load(std::memory_order_relaxed);
}

SavedTensorStore::Scope::Scope(SavedTensorStore& store)
    : outer_(graph_state.saved_tensor_store) {
  if (graph_state.saved_tensor_hooks_forbidden != nullptr) {
    throw HookError(*graph_state.saved_tensor_hooks_forbidden);
  }
  graph_state.saved_tensor_store = &store;
}

SavedTensorStore::Scope::~Scope() { graph_state.saved_tensor_store = outer_; }

void SavedTensor::save_output(const Tensor& tensor) {
  output_nr_ = tensor.output_nr();
  // Detached: the tensor owns its node, so a node that owns it would leak.
  keep(tensor.detach(), true);
  if (MemoryLedger::exists()) list(tensor);
}

// `saved` is what the program has of the saved tensor.
void SavedTensor::list(const Tensor& saved) const {
  if (!tensor_.defined()) return;
  const Ref<Node> maker = saved.grad_fn();
  MemoryLedger::saved(
      tensor_.impl()->storage->block(),
      maker ? absl::StrCat(saved.describe(), " of ", maker->name())
            : saved.describe());
}

void SavedTensor::unlist(const Tensor& saved) {
  if (saved.defined()) MemoryLedger::unsaved(saved.impl()->storage->block());
}

void SavedTensor::keep(const Tensor& tensor, bool is_output) {
  if (tensor.impl()->inference) {
    throw InferenceError(absl::StrCat(
        "Inference tensors cannot be saved for backward (", tensor.describe(),
        "); use a clone() made outside InferenceMode"));
  }
  is_output_ = is_output;
  has_history_ = !is_output && has_grad_fn(tensor);
  version_ = tensor.version();
  state_ = State::kHeld;
  if (SavedTensorStore* store = graph_state.saved_tensor_store) {
    hand_over(tensor, *store);
    if (kept_.holder) return;
  }
  tensor_ = tensor;
  if (!is_output) enlist();
  counted_bytes_ = static_cast<std::int64_t>(tensor.bytes());
  saved_bytes.fetch_add(counted_bytes_, std::memory_order_relaxed);
}

void SavedTensor::hand_over(const Tensor& tensor, SavedTensorStore& store) {
  {
    NoGrad no_grad;
    kept_ = store.keep(tensor);
  }
  if (tensor.version() != version_) {
    throw HookError(
        "a saved-tensor pack hook is modifying its input in place; return a "
        "new tensor instead");
  }
  if (!kept_.holder || is_output_) return;
  Edge edge = gradient_edge(tensor);
  output_nr_ = edge.input_nr;
  source_ = std::move(edge.node);
}

void SavedTensor::enlist() {
  TensorImpl& root = *root_of(tensor_).impl();
  SpinLockHolder lock(root.savers_lock);
  enlisted_ = &root;
  next_ = root.savers;
  if (next_ != nullptr) next_->previous_ = this;
  root.savers = this;
}

// The caller keeps `root`, whose list may contain this, alive.
void SavedTensor::delist(TensorImpl& root) {
  SpinLockHolder lock(root.savers_lock);
  if (enlisted_ == nullptr) return;
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : root.savers) = next_;
  enlisted_ = nullptr;
}

void SavedTensor::release(const Tensor& root) {
  std::vector<Tensor> dropped;  // Destroyed after the locks.
  TensorImpl& written = *root.impl();
  SpinLockHolder lock(written.savers_lock);
  SavedTensor* saver = std::exchange(written.savers, nullptr);
  while (saver != nullptr) {
    SavedTensor* const next = saver->next_;
    SpinLockHolder saver_lock(saver->lock_);
    saver->enlisted_ = nullptr;
    if (saver->tensor_.defined()) {
      saver->written_ = WeakTensor(saver->tensor_);
      dropped.push_back(std::exchange(saver->tensor_, saver->tensor_.detach()));
    }
    saver = next;
  }
}

void SavedTensor::check_version(const Tensor& saved, Node& node) const {
  const std::uint32_t found = saved.version();
  if (found == version_) return;
  const Tensor written = written_.lock();
  const Tensor& tensor = written.defined() ? written : saved;
  const Ref<Node> producer = is_output_ ? nullptr : tensor.grad_fn();
  const char* source = is_output_ ? node.name()
                       : producer ? producer->name()
                                  : nullptr;
  const std::uint32_t output = is_output_ ? output_nr_ : tensor.output_nr();
  throw VersionError(absl::StrCat(
      "one of the variables needed for gradient computation has been modified "
      "by an inplace operation: [",
      tensor.describe(), "], ",
      source != nullptr
          ? absl::StrCat("which is output ", output, " of ", source, ",")
          : std::string(has_history_ ? "which is gone," : "a leaf,"),
      " needed by ", node.name(), ", is at version ", found,
      "; expected version ", version_,
      " instead. Modify a clone(), or modify it after backward"));
}

void SavedTensor::check_attached(const Tensor& tensor, Node& node) const {
  if (!has_history_ || has_grad_fn(tensor)) return;
  throw AutogradError(absl::StrCat(
      "a ", tensor.describe(), " that ", node.name(),
      " needs was detached in place (detach_) after it was saved, so that its "
      "gradient has no way to go; use detach() instead"));
}

Tensor SavedTensor::unpack(Node& node, bool with_history_of_result) {
  Tensor tensor;
  SavedTensorStore::Kept kept;
  Ref<Node> source;
  State state;
  {
    SpinLockHolder lock(lock_);
    state = state_;
    tensor = tensor_;
    kept = kept_;
    source = source_;
  }
  if (state == State::kNothing) return Tensor();
  if (state == State::kFreed) {
    throw_graph_freed(node);
  }
  if (kept.holder) {
    tensor = unpack_held(node, kept, source);
  } else {
    check_version(tensor, node);
    check_attached(tensor, node);
  }
  if (!is_output_ || !with_history_of_result) return tensor;
  if (const NodeHooks* hooks = node.hooks();
      hooks != nullptr && hooks->attach) {
    return hooks->attach(tensor);
  }
  return with_history(tensor, Ref<Node>::share(&node), output_nr_);
}

// A holder returns the elements of the saved tensor. History, version, grad()
// and hooks are restored here.
Tensor SavedTensor::unpack_held(Node& node, const SavedTensorStore::Kept& kept,
                                const Ref<Node>& source) const {
  if (const Tensor original = kept.holder->original(kept.place);
      original.defined()) {
    check_version(original, node);
  }
  Tensor tensor = restored(node, kept);
  if (is_output_ || !source) return tensor;
  if (source->is_accumulate_grad()) {
    return standing_for_leaf(
        tensor, static_cast<const AccumulateGrad&>(*source).leaf());
  }
  if (tensor.grad_fn() == source && tensor.output_nr() == output_nr_) {
    return tensor;
  }
  Tensor result = with_history(tensor, source, output_nr_);
  retain_grad_likewise(result, *source, output_nr_);
  return result;
}

Tensor SavedTensor::restored(Node& node,
                             const SavedTensorStore::Kept& kept) const {
  const bool recording = is_grad_enabled();
  const InferenceMode normal(false);
  const SetGradEnabled mode(recording);
  Tensor tensor = kept.holder->restore(kept.place, node);
  Storage& storage = *tensor.impl()->storage;
  // Memory that was made for this restore has no writes of its own to count.
  while (storage.unique() && storage.version() < version_) {
    storage.bump_version();
  }
  return tensor;
}

void SavedTensor::release() {
  Tensor dropped;
  SavedTensorStore::Kept kept;
  Ref<Node> source;
  TensorImpl* root = nullptr;
  std::int64_t bytes = 0;
  {
    SpinLockHolder lock(lock_);
    if (state_ != State::kHeld) return;
    state_ = State::kFreed;
    ++graph_state.tensors_freed;
    root = enlisted_;
    dropped = std::move(tensor_);
    kept = std::move(kept_);
    source = std::move(source_);
    std::swap(bytes, counted_bytes_);
  }
  if (root != nullptr) delist(*root);
  if (MemoryLedger::exists()) unlist(dropped);
  if (kept.holder) kept.holder->forget(kept.place);
  if (bytes != 0) saved_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

void SavedTensor::drop() {
  Tensor kept;  // Destroyed after the locks.
  TensorImpl* root = nullptr;
  if (state_ == State::kHeld) {
    SpinLockHolder lock(lock_);
    root = enlisted_;
    kept = std::move(tensor_);
  }
  if (root != nullptr) delist(*root);
  if (MemoryLedger::exists()) unlist(kept);
  if (kept_.holder) kept_.holder->forget(kept_.place);
  if (counted_bytes_ != 0) {
    saved_bytes.fetch_sub(counted_bytes_, std::memory_order_relaxed);
  }
}

}  // namespace hvd::autograd
