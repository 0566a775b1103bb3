// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/error_feedback.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"

namespace hvd::compression {
namespace {

constexpr char kErrorSuffix[] = ".error";

}  // namespace

std::vector<float> ErrorFeedback::corrected(const Gradient& gradient) const {
  const auto* elements = static_cast<const float*>(gradient.view.data());
  std::vector<float> result(elements, elements + gradient.view.num_elements());
  MutexLock lock(mutex_);
  const auto found = errors_.find(gradient.key);
  // One of another shape is another gradient.
  if (found == errors_.end() || found->second.size() != result.size()) {
    return result;
  }
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += found->second[i];
  return result;
}

void ErrorFeedback::remember(const std::string& key,
                             std::vector<float> corrected,
                             const std::vector<float>& sent) {
  for (std::size_t i = 0; i < corrected.size(); ++i) {
    corrected[i] -= sent[i];
    if (!std::isfinite(corrected[i])) corrected[i] = 0.0f;
  }
  MutexLock lock(mutex_);
  errors_[key] = std::move(corrected);
}

std::vector<RememberedValues> ErrorFeedback::state() const {
  MutexLock lock(mutex_);
  std::vector<RememberedValues> result;
  for (const auto& [key, values] : errors_) {
    result.push_back({key + kErrorSuffix, values});
  }
  return result;
}

void ErrorFeedback::load(const std::vector<RememberedValues>& state) {
  MutexLock lock(mutex_);
  errors_.clear();
  for (const auto& [name, values] : state) {
    if (!absl::EndsWith(name, kErrorSuffix)) continue;
    errors_[name.substr(0, name.size() - sizeof kErrorSuffix + 1)] = values;
  }
}

}  // namespace hvd::compression
