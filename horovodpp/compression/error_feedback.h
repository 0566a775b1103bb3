// SPDX-License-Identifier: Apache-2.0
// An ErrorFeedback keeps, for each gradient, the part that compression has not
// sent so far, and adds it to the next gradient.
//
// With a momentum each rank sends its velocity, and keeps the unsent part:
//
//   u = momentum u + gradient;  v = v + u;  v is sent in part, and less of it
//   remains
//
// (Lin et al., "Deep gradient compression", 2018, whose optimizer has no
// momentum). The sent parts add up to the updates that momentum would have
// made. With `masks`, u restarts where v is sent. With a `max_norm`, each
// gradient is clipped first.
//
// Thread-safe, for different keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::compression {

struct FeedbackOptions {
  double momentum = 0.0;  // 0: none.
  bool masks = false;
  double max_norm = 0.0;  // Of one rank's gradient. 0: no limit.
};

class ErrorFeedback {
 public:
  explicit ErrorFeedback(const FeedbackOptions& options = {})
      : momentum_(static_cast<float>(options.momentum)),
        masks_(options.masks),
        max_norm_(options.max_norm) {}

  // The number of earlier gradients of this key; counts one.
  std::int64_t count_step(const std::string& key);
  // One rank's gradient (of `num_ranks` ranks), plus the part that was not sent
  // before.
  std::vector<float> corrected(const Gradient& gradient, int num_ranks) {
    return add(gradient, num_ranks, errors_of(gradient.key));
  }
  // The same in the memory of the errors, which are empty until remember().
  std::vector<float> take_corrected(const Gradient& gradient, int num_ranks) {
    return add(gradient, num_ranks, std::move(errors_of(gradient.key)));
  }
  // Keeps corrected - sent. Elements of which that is not finite restart at
  // zero.
  void remember(const std::string& key, std::vector<float> rest) {
    errors_of(key) = std::move(rest);
  }
  // The velocity, if it restarts at the sent elements; else nullptr.
  float* masked_velocity(const std::string& key) {
    return masks_ && momentum_ != 0.0f ? velocity_of(key).data() : nullptr;
  }

  std::vector<RememberedValues> state() const;
  void load(const std::vector<RememberedValues>& state);

 private:
  using Memory = std::map<std::string, std::vector<float>>;

  // For one thread until the next load().
  std::vector<float>& errors_of(const std::string& key) {
    MutexLock lock(mutex_);
    return errors_[key];
  }
  std::vector<float>& velocity_of(const std::string& key) {
    MutexLock lock(mutex_);
    return velocities_[key];
  }
  std::vector<float> add(const Gradient& gradient, int num_ranks,
                         std::vector<float> errors);

  const float momentum_;
  const bool masks_;
  const double max_norm_;
  mutable Mutex mutex_;
  Memory errors_ ABSL_GUARDED_BY(mutex_);
  Memory velocities_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> steps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::compression
