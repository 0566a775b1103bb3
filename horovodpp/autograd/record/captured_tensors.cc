// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/captured_tensors.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/graph_state.h"

namespace hvd::autograd {
namespace {

std::atomic<std::int64_t> captures{0};  // Number of live instances.

}  // namespace

CapturedTensors::CapturedTensors(std::uint64_t mark)
    : mark_(mark),
      forward_mark_(graph_state.forward_mark != 0 ? graph_state.forward_mark
                                                  : mark) {
  captures.fetch_add(1, std::memory_order_relaxed);
}

CapturedTensors::~CapturedTensors() {
  captures.fetch_sub(1, std::memory_order_relaxed);
}

CapturedTensors::AsInForward::AsInForward(const CapturedTensors& captured)
    : outer_(std::exchange(graph_state.forward_mark, captured.forward_mark_)) {}

CapturedTensors::AsInForward::~AsInForward() {
  graph_state.forward_mark = outer_;
}

void change_requires_grad(const Tensor& leaf, bool value) {
  AutogradMeta& meta = meta_of(leaf);
  meta.requires_grad = value;
  if (captures.load(std::memory_order_relaxed) == 0) {
    meta.changes = nullptr;
  } else if (graph_state.operation_observer == nullptr &&
             graph_state.forward_mark == 0) {
    if (meta.changes == nullptr) {
      meta.changes = std::make_unique<std::vector<std::uint64_t>>();
    }
    meta.changes->push_back(Storage::next_mark());
  }
}

bool required_grad(const Tensor& tensor) {
  const AutogradMeta& meta = *tensor.impl()->meta;
  const std::uint64_t mark = graph_state.forward_mark;
  if (mark == 0 || !tensor.impl()->storage->is_older_than(mark)) {
    return meta.requires_grad;
  }
  const auto& changes = *meta.changes;
  const auto since = std::lower_bound(changes.begin(), changes.end(), mark);
  return meta.requires_grad != ((changes.end() - since) % 2 == 1);
}

bool CapturedTensors::is_new(const Tensor& tensor, std::uint64_t mark) const {
  if (!tensor.defined() || tensor.is_inference()) return false;
  Storage& storage = *tensor.impl()->storage;
  return storage.is_older_than(mark_) && storage.first_seen_since(mark);
}

void CapturedTensors::reads(const Tensor& tensor) {
  if (!is_new(tensor, mark_)) return;
  all_.push_back(
      {WeakTensor(tensor), tensor.impl()->storage.get(), tensor.version()});
}

void CapturedTensors::report_to(OperationObserver* observer) const {
  if (observer == nullptr) return;
  for (const Captured& captured : all_) observer->reads(captured.tensor.lock());
}

std::optional<CapturedTensors::Change> CapturedTensors::Check::reads(
    const Tensor& tensor) {
  if (!captured_->is_new(tensor, mark_)) return std::nullopt;
  const auto& all = captured_->all_;
  // Both runs read in the same order, but the second may skip reads.
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto is_it = [&](const Captured& captured) {
    return captured.storage == tensor.impl()->storage.get();
  };
  auto found = std::find_if(from, all.end(), is_it);
  if (found == all.end()) {
    found = std::find_if(all.begin(), from, is_it);
    if (found == from) return std::nullopt;
  }
  next_ = static_cast<std::size_t>(found - all.begin()) + 1;
  if (tensor.version() == found->version) return std::nullopt;
  return Change{tensor.describe(), found->version, tensor.version()};
}

std::string CapturedTensors::Change::text(std::string_view name) const {
  return absl::StrCat(
      "a captured tensor, ",
      name.empty() ? "" : absl::StrCat("'", std::string(name), "', "), tensor,
      ", was modified in place since forward read it: version ", before, " → ",
      after, ". Modify it after backward, or pass the function a clone()");
}

}  // namespace hvd::autograd
