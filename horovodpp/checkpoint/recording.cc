// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/recording.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/anomaly.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/checkpoint/budgets/budget_ledger.h"
#include "horovodpp/checkpoint/kept_results.h"
#include "horovodpp/checkpoint/thread_time.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

void OperationLog::add(const char* operation) {
  entries_.push_back({operation, calls_here()});
}

std::string OperationLog::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    absl::StrAppend(&text, i, ": ", entries_[i].operation, ", called\n",
                    describe_calls(entries_[i].calls), "\n");
  }
  return text;
}

std::uint64_t checksum(const Tensor& tensor) {
  NoGrad no_grad;
  const Tensor rows = tensor.contiguous();
  return absl::HashOf(std::string_view(
      static_cast<const char*>(rows.raw_data()), rows.bytes()));
}

Recording::Recording(const CheckpointOptions& options)
    : options_(in_scope(options)),
      mark_(Storage::next_mark()),
      autocast_(current_autocast()),
      random_(default_generator().state()),
      captured_(mark_),
      kept_(options_.policy ? std::make_unique<KeptResults>(options_, mark_)
                            : nullptr) {
  BudgetFamily* const family = BudgetFamily::of_thread();
  if (is_recomputing()) {
    if (family != nullptr) twin_ = family->next_twin();
    return;
  }
  if (graph_state.budget_ledger == nullptr) return;
  ledger_ = graph_state.budget_ledger->shared_from_this();
  if (family != nullptr) family->add(mark_);
  {
    SpinLockHolder lock(lock_);
    keeps_ = true;
  }
  ledger_->add(this);
}

Recording::~Recording() {
  if (ledger_ != nullptr) ledger_->remove(this);
}

void Recording::apply(std::span<Tensor> /*gradients*/,
                      std::span<Tensor> /*results*/) {
  throw AutogradError("a checkpointed region has no gradient of its own");
}

void Recording::save_inputs(std::span<const Tensor> inputs) {
  inputs_ = std::vector<SavedTensor>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) inputs_[i].save(inputs[i]);
  }
}

Recording::Forward::Forward(Recording& recording)
    : recording_(recording),
      context_(recording.options_.forward_context
                   ? recording.options_.forward_context()
                   : nullptr),
      outer_(graph_state.operation_observer),
      family_(recording.family()),
      family_scope_(family_),
      store_(recording),
      observer_(&recording),
      effects_(&recording.effects_, false) {
  if (recording.ledger_ != nullptr) recording.began_ = worked_seconds();
  recording.running_.store(true, std::memory_order_relaxed);
  recording.outer_ = outer_;
  recording.follows_results_ = recording.kept_ != nullptr ||
                               (outer_ != nullptr && outer_->follows_results());
}

Recording::Forward::~Forward() {
  if (recording_.kept_ != nullptr) recording_.kept_->finish();
  recording_.outer_ = nullptr;
  recording_.running_.store(false, std::memory_order_relaxed);
}

void Recording::Forward::finish() const {
  recording_.captured_.report_to(outer_);
  if (recording_.ledger_ == nullptr) return;
  if (!recording_.options_.early_stop) recording_.note_time();
  recording_.running_.store(false, std::memory_order_relaxed);
  recording_.ledger_->has_more();
  recording_.ledger_->make_room(0);
}

BudgetFamily Recording::family() {
  if (ledger_ != nullptr) return BudgetFamily(&children_);
  if (twin_.ledger == nullptr) return {};
  return {twin_.ledger, twin_.ledger->children_of(twin_.mark)};
}

void Recording::note_time() {
  replay_seconds_.store(worked_seconds() - began_, std::memory_order_relaxed);
}

std::vector<bool> Recording::wanted() const {
  std::vector<bool> result(slots_.size(), true);
  SpinLockHolder lock(lock_);
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    result[i] = contents_[i].wanted;
  }
  while (!result.empty() && !result.back()) result.pop_back();
  return result;
}

SavedTensorStore::Kept Recording::keep(const Tensor& tensor) {
  reads(tensor);
  constexpr std::size_t kFew = 8;
  if (slots_.empty()) slots_.reserve(kFew);
  Slot& slot = slots_.emplace_back();
  slot.shape = tensor.shape();
  slot.dtype = tensor.dtype();
  slot.version = tensor.version();
  slot.operation = operation_;
  if (options_.determinism_check == DeterminismCheck::kChecksum) {
    slot.checksum = checksum(tensor);
  }
  if (ledger_ != nullptr) {
    keep_content(tensor);
    note_time();
    ledger_->has_more();
    ledger_->make_room(0);
  }
  if (twin_.ledger != nullptr) {
    twin_.ledger->refill(twin_.mark,
                         static_cast<std::uint32_t>(slots_.size() - 1), tensor);
  }
  return {Ref<SavedTensorHolder>::share(this),
          static_cast<std::uint32_t>(slots_.size() - 1)};
}

void Recording::keep_content(const Tensor& tensor) {
  const bool may = kept_ == nullptr || !kept_->is_never_kept(tensor);
  SpinLockHolder lock(lock_);
  contents_.resize(slots_.size());
  // Detached unless a leaf: a history would own this recording.
  if (keeps_ && may) {
    contents_.back().value = tensor.is_leaf() ? tensor : tensor.detach();
  }
}

void Recording::records(const Node& node) {
  operation_ = node.name();
  if (options_.debug) log_.add(operation_);
}

bool Recording::recalls(const char* operation, OperationResults& results) {
  if (kept_ != nullptr) kept_->begins(operation);
  if (outer_ == nullptr || !outer_->follows_results() ||
      !outer_->recalls(operation, results)) {
    return false;
  }
  if (kept_ != nullptr) kept_->made(results);
  return true;
}

void Recording::made(const char* operation, const OperationResults& results) {
  if (kept_ != nullptr) kept_->made(results);
  if (outer_ != nullptr && outer_->follows_results()) {
    outer_->made(operation, results);
  }
}

void Recording::named(const Tensor& tensor, std::string_view name) {
  if (kept_ != nullptr) kept_->named(tensor, name);
  if (outer_ != nullptr && outer_->follows_results()) {
    outer_->named(tensor, name);
  }
}

Tensor Recording::original(std::uint32_t place) const {
  // Without a ledger, slots have no content.
  if (ledger_ == nullptr) return Tensor();
  SpinLockHolder lock(lock_);
  return place < contents_.size() ? contents_[place].value : Tensor();
}

void Recording::forget(std::uint32_t place) {
  is_unpacked_.store(true, std::memory_order_relaxed);
  Tensor dropped;  // Freed after the lock.
  SpinLockHolder lock(lock_);
  if (place >= contents_.size()) contents_.resize(place + 1);
  contents_[place].wanted = false;
  dropped = std::move(contents_[place].value);
}

std::int64_t Recording::held_bytes() const {
  SpinLockHolder lock(lock_);
  if (!keeps_) return 0;
  // Several slots may share a storage, which drop() frees if it has no other
  // owner.
  absl::flat_hash_map<const Storage*, std::uint32_t> shows;
  for (const Content& content : contents_) {
    if (!content.value.defined()) continue;
    const Storage* storage = content.value.impl()->storage.get();
    if (!storage->is_older_than(mark_)) ++shows[storage];
  }
  if (kept_ != nullptr) kept_->count(shows);
  std::int64_t bytes = 0;
  for (const auto& [storage, count] : shows) {
    if (storage->owners() <= count) {
      bytes += static_cast<std::int64_t>(storage->bytes());
    }
  }
  return bytes;
}

std::vector<Tensor> Recording::drop() {
  std::vector<Tensor> dropped;
  SpinLockHolder lock(lock_);
  keeps_ = false;
  for (Content& content : contents_) {
    dropped.push_back(std::move(content.value));
  }
  if (kept_ != nullptr) kept_->drop(dropped);
  return dropped;
}

// Ignores a tensor that does not match: this region's own recomputation will
// report the difference.
void Recording::refill(std::uint32_t place, const Tensor& tensor) {
  if (kept_ != nullptr || running_ || place >= slots_.size() ||
      options_.determinism_check == DeterminismCheck::kChecksum) {
    return;
  }
  const Slot& slot = slots_[place];
  if (tensor.shape() != slot.shape || tensor.dtype() != slot.dtype ||
      tensor.version() != slot.version) {
    return;
  }
  SpinLockHolder lock(lock_);
  contents_.resize(slots_.size());
  Content& content = contents_[place];
  if (!content.wanted || content.value.defined()) return;
  content.value = tensor.is_leaf() ? tensor : tensor.detach();
  keeps_ = true;
}

std::vector<Tensor> Recording::unpacked_inputs() {
  EnableGrad with_history;
  std::vector<Tensor> inputs;
  for (SavedTensor& input : inputs_) inputs.push_back(input.unpack(*this));
  return inputs;
}

}  // namespace hvd::autograd
