// SPDX-License-Identifier: Apache-2.0
// An ErrorFeedback keeps, of each gradient, what compression has taken from it so
// far, and adds it to the next one.
//
// With a momentum it is each rank's velocity that is sent, and whose rest is kept:
//
//   u = momentum u + gradient;  v = v + u;  v is sent in part, and less of it
//   remains
//
// (Lin et al., "Deep gradient compression", 2018, whose optimizer has none). All that
// is sent adds up to what momentum would have added up to. With `masks`, u begins anew
// where v is sent. With a `max_norm`, each gradient is clipped before that.
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
#include "horovodpp/core/mutex.h"

namespace hvd::compression {

struct FeedbackOptions {
  double momentum = 0.0;  // 0: none.
  bool masks = false;
  double max_norm = 0.0;  // Of a gradient of one rank alone. 0: any.
};

class ErrorFeedback {
 public:
  explicit ErrorFeedback(const FeedbackOptions& options = {})
      : momentum_(static_cast<float>(options.momentum)),
        masks_(options.masks),
        max_norm_(options.max_norm) {}

  // How many gradients of this key there were before; counts one.
  std::int64_t count_step(const std::string& key);
  // The gradient, of one of so many ranks, and what was taken from it before.
  std::vector<float> corrected(const Gradient& gradient, int num_ranks) {
    return add(gradient, num_ranks, errors_of(gradient.key));
  }
  // The same in the memory of the errors, which are gone until remember().
  std::vector<float> take_corrected(const Gradient& gradient, int num_ranks) {
    return add(gradient, num_ranks, std::move(errors_of(gradient.key)));
  }
  // Remembers corrected - sent; but for elements of which that is not finite: these
  // are lost to all ranks, and begin anew.
  void remember(const std::string& key, std::vector<float> rest) {
    errors_of(key) = std::move(rest);
  }
  // The velocity, if it begins anew at the elements that are sent; else nullptr.
  float* masked_velocity(const std::string& key) {
    return masks_ && momentum_ != 0.0f ? velocity_of(key).data() : nullptr;
  }

  std::vector<RememberedValues> state() const;
  void load(const std::vector<RememberedValues>& state);

 private:
  using Memory = std::map<std::string, std::vector<float>>;

  // A thread's own until the next load().
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
