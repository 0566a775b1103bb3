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
  std::vector<float> corrected(const Gradient& gradient, int num_ranks);
  // Remembers corrected - sent, which `corrected` becomes; but for elements of which
  // that is not finite: these are lost to all ranks, and begin anew.
  void remember(const std::string& key, std::vector<float> corrected,
                const std::vector<float>& sent);

  std::vector<RememberedValues> state() const;
  void load(const std::vector<RememberedValues>& state);

 private:
  using Memory = std::map<std::string, std::vector<float>>;

  const float momentum_;
  const bool masks_;
  const double max_norm_;
  mutable Mutex mutex_;
  Memory errors_ ABSL_GUARDED_BY(mutex_);
  Memory velocities_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t> steps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::compression
