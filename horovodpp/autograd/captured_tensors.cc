// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/captured_tensors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hvd::autograd {

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

void CapturedTensors::tell(OperationObserver* observer) const {
  if (observer == nullptr) return;
  for (const Captured& captured : all_) observer->reads(captured.tensor.lock());
}

std::optional<CapturedTensors::Change> CapturedTensors::Check::reads(
    const Tensor& tensor) {
  if (!captured_->is_new(tensor, mark_)) return std::nullopt;
  const auto& all = captured_->all_;
  // Both runs read in the same order, but for what the second leaves out.
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
      after,
      ". Modify it after backward, or give the function a clone() of it");
}

}  // namespace hvd::autograd
