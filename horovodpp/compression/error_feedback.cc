// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/error_feedback.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace hvd::compression {
namespace {

constexpr char kError[] = ".error";
constexpr char kVelocity[] = ".velocity";
constexpr char kSteps[] = ".steps";

// The key of `name` if the name is of this kind, else nullopt.
std::optional<std::string> key_of(const std::string& name, const char* kind) {
  absl::string_view rest = name;
  if (!absl::ConsumeSuffix(&rest, kind)) return std::nullopt;
  return std::string(rest);
}

// A count as two floats, each of which holds 24 bits without loss.
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

float finite_or_zero(float x) {
  return std::abs(x) <= std::numeric_limits<float>::max() ? x : 0.0f;
}

std::vector<float> finite(std::vector<float> values) {
  for (float& x : values) x = finite_or_zero(x);
  return values;
}

// The clipping factor; 1 if the gradient's norm is not finite.
float clipping(const float* gradient, std::size_t count, double max_norm) {
  double squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    squares += static_cast<double>(gradient[i]) * gradient[i];
  }
  const double norm = std::sqrt(squares);
  return std::isfinite(norm) && norm > max_norm
             ? static_cast<float>(max_norm / norm)
             : 1.0f;
}

}  // namespace

std::int64_t ErrorFeedback::count_step(const std::string& key) {
  MutexLock lock(mutex_);
  return steps_[key]++;
}

std::vector<float> ErrorFeedback::add(const Gradient& gradient, int num_ranks,
                                      std::vector<float> errors) {
  const auto* x = static_cast<const float*>(gradient.view.data());
  const auto count = static_cast<std::size_t>(gradient.view.num_elements());
  // Errors of another shape belong to an earlier gradient of that key.
  if (errors.size() != count) errors.assign(count, 0.0f);
  // So the norm of a sum of as many gradients in independent directions is
  // about max_norm at most.
  const float factor =
      max_norm_ > 0 ? clipping(x, count, max_norm_ / std::sqrt(num_ranks))
                    : 1.0f;
  if (momentum_ == 0.0f) {
    for (std::size_t i = 0; i < count; ++i) {
      errors[i] = finite_or_zero(errors[i]) + factor * x[i];
    }
    return errors;
  }
  std::vector<float>& velocity = velocity_of(gradient.key);
  if (velocity.size() != count) velocity.assign(count, 0.0f);
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = momentum_ * finite_or_zero(velocity[i]) + factor * x[i];
    errors[i] = finite_or_zero(errors[i]) + velocity[i];
  }
  return errors;
}

std::vector<RememberedValues> ErrorFeedback::state() const {
  MutexLock lock(mutex_);
  std::vector<RememberedValues> result;
  for (const auto& [key, values] : errors_) {
    if (!values.empty()) result.push_back({key + kError, finite(values)});
  }
  for (const auto& [key, values] : velocities_) {
    result.push_back({key + kVelocity, finite(values)});
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
