// SPDX-License-Identifier: Apache-2.0
// The place of a saved tensor that is recomputed: the original's properties,
// and the recomputed tensor for each backward pass that needs it.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/checkpoint/checkpoint_options.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// The properties by which a saved tensor is checked.
struct TensorFacts {
  static TensorFacts of(const torch::Tensor& tensor, DeterminismCheck check) {
    TensorFacts facts;
    facts.shape = tensor.sizes().vec();
    facts.type = tensor.scalar_type();
    facts.device = tensor.device();
    if (check == DeterminismCheck::kChecksum) facts.sum = checksum(tensor);
    return facts;
  }
  bool operator==(const TensorFacts& other) const {
    return shape == other.shape && type == other.type &&
           device == other.device && sum == other.sum;
  }
  std::string text() const {
    std::ostringstream text;
    text << torch::toString(type) << torch::IntArrayRef(shape) << " on "
         << device;
    if (sum != 0) text << ", checksum " << sum;
    return text.str();
  }

  std::vector<std::int64_t> shape;
  torch::ScalarType type = torch::kFloat;
  torch::Device device = torch::kCPU;
  std::uint64_t sum = 0;

 private:
  static std::uint64_t checksum(const torch::Tensor& tensor) {
    if (tensor.layout() != torch::kStrided || !tensor.device().is_cpu())
      return 0;
    const torch::Tensor whole = tensor.detach().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(whole.data_ptr());
    // FNV-1a.
    std::uint64_t sum = 14695981039346656037u;
    for (std::size_t i = 0; i < whole.nbytes(); ++i) {
      sum = (sum ^ bytes[i]) * 1099511628211u;
    }
    return sum;
  }
};

// Guarded by its region.
class SavedPlace {
 public:
  explicit SavedPlace(TensorFacts facts) : facts_(std::move(facts)) {}
  const TensorFacts& facts() const { return facts_; }

  // `pass` identifies a backward pass.
  void fill(const void* pass, torch::Tensor tensor) {
    filled_.emplace_back(pass, std::move(tensor));
  }
  const torch::Tensor* find(const void* pass) const {
    for (const auto& [owner, tensor] : filled_) {
      if (owner == pass) return &tensor;
    }
    return nullptr;
  }
  // Undefined: it holds no tensor for that pass.
  torch::Tensor take(const void* pass) {
    for (auto it = filled_.begin(); it != filled_.end(); ++it) {
      if (it->first != pass) continue;
      torch::Tensor tensor = std::move(it->second);
      filled_.erase(it);
      return tensor;
    }
    return {};
  }

 private:
  const TensorFacts facts_;
  std::vector<std::pair<const void*, torch::Tensor>> filled_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
