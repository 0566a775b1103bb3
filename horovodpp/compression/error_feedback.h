// SPDX-License-Identifier: Apache-2.0
// An ErrorFeedback keeps, of each gradient, what compression has taken from it so
// far, and adds it to the next one.
//
// Thread-safe, for different keys.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/mutex.h"

namespace hvd::compression {

class ErrorFeedback {
 public:
  // The gradient and what was taken from it before.
  std::vector<float> corrected(const Gradient& gradient) const;
  // Remembers corrected - sent, which `corrected` becomes; but for elements of which
  // that is not finite: these are lost to all ranks, and begin anew.
  void remember(const std::string& key, std::vector<float> corrected,
                const std::vector<float>& sent);

  std::vector<RememberedValues> state() const;
  void load(const std::vector<RememberedValues>& state);

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::vector<float>> errors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::compression
