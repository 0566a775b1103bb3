// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/error_feedback.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace hvd::compression {
namespace {

constexpr char kError[] = ".error";
constexpr char kVelocity[] = ".velocity";
constexpr char kSteps[] = ".steps";

// The key of `name` if that is of this kind, or nothing.
std::optional<std::string> key_of(const std::string& name, const char* kind) {
  absl::string_view rest = name;
  if (!absl::ConsumeSuffix(&rest, kind)) return std::nullopt;
  return std::string(rest);
}

// A count in two floats, which hold 24 bits each without loss.
constexpr std::int64_t kFloatCount = std::int64_t{1} << 24;

std::vector<float> floats_of(std::int64_t count) {
  return {static_cast<float>(count / kFloatCount),
          static_cast<float>(count % kFloatCount)};
}

std::int64_t count_of(const std::vector<float>& floats) {
  const bool is_count = floats.size() == 2 && floats[0] >= 0 &&
                        floats[0] < kFloatCount && floats[1] >= 0 &&
                        floats[1] < kFloatCount;
  if (!is_count) return 0;
  return static_cast<std::int64_t>(floats[0]) * kFloatCount +
         static_cast<std::int64_t>(floats[1]);
}

// One that is not finite stays so, as does its norm.
void clip(std::vector<float>& gradient, double max_norm) {
  double squares = 0.0;
  for (const float x : gradient) squares += static_cast<double>(x) * x;
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm) || norm <= max_norm) return;
  const auto factor = static_cast<float>(max_norm / norm);
  for (float& x : gradient) x *= factor;
}

}  // namespace

std::int64_t ErrorFeedback::count_step(const std::string& key) {
  MutexLock lock(mutex_);
  return steps_[key]++;
}

std::vector<float> ErrorFeedback::corrected(const Gradient& gradient,
                                            int num_ranks) {
  const auto* elements = static_cast<const float*>(gradient.view.data());
  std::vector<float> result(elements, elements + gradient.view.num_elements());
  // The norm of a sum of as many gradients that point anywhere is at most max_norm.
  if (max_norm_ > 0) clip(result, max_norm_ / std::sqrt(num_ranks));
  MutexLock lock(mutex_);
  if (momentum_ != 0.0f) {
    std::vector<float>& velocity = velocities_[gradient.key];
    // One of another shape is another gradient.
    if (velocity.size() != result.size()) velocity.assign(result.size(), 0.0f);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = velocity[i] = momentum_ * velocity[i] + result[i];
    }
  }
  const auto found = errors_.find(gradient.key);
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
  if (momentum_ == 0.0f) return;
  std::vector<float>& velocity = velocities_[key];
  for (std::size_t i = 0; i < velocity.size(); ++i) {
    const bool ends = masks_ && sent[i] != 0.0f;
    if (ends || !std::isfinite(velocity[i])) velocity[i] = 0.0f;
  }
}

std::vector<RememberedValues> ErrorFeedback::state() const {
  MutexLock lock(mutex_);
  std::vector<RememberedValues> result;
  for (const auto& [key, values] : errors_) {
    result.push_back({key + kError, values});
  }
  for (const auto& [key, values] : velocities_) {
    result.push_back({key + kVelocity, values});
  }
  for (const auto& [key, count] : steps_) {
    result.push_back({key + kSteps, floats_of(count)});
  }
  return result;
}

void ErrorFeedback::load(const std::vector<RememberedValues>& state) {
  MutexLock lock(mutex_);
  errors_.clear();
  velocities_.clear();
  steps_.clear();
  for (const auto& [name, values] : state) {
    if (const auto errors = key_of(name, kError)) errors_[*errors] = values;
    if (const auto velocity = key_of(name, kVelocity)) {
      velocities_[*velocity] = values;
    }
    if (const auto steps = key_of(name, kSteps)) {
      steps_[*steps] = count_of(values);
    }
  }
}

}  // namespace hvd::compression
