// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/warning.h"

#include <cstdio>
#include <utility>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::autograd {
namespace {

// The kinds reported on stderr.
class Said {
 public:
  bool add(const std::string& kind) {
    MutexLock lock(mutex_);
    return kinds_.insert(kind).second;
  }

 private:
  Mutex mutex_;
  std::set<std::string> kinds_ ABSL_GUARDED_BY(mutex_);
};

void print(const std::string& text) {
  std::fprintf(stderr, "horovodpp: warning: %s\n", text.c_str());
}

}  // namespace

Warnings::Warnings(Handler handler)
    : handler_(std::move(handler)), outer_(graph_state.warnings) {
  graph_state.warnings = this;
}

Warnings::~Warnings() { graph_state.warnings = outer_; }

void warn_once(const std::string& kind, const std::string& text) {
  static auto* said = new Said;
  if (Warnings* warnings = graph_state.warnings) {
    if (warnings->said_.insert(kind).second) warnings->handler_(text);
  } else if (said->add(kind)) {
    print(text);
  }
}

void warn(const std::string& text) {
  if (Warnings* warnings = graph_state.warnings) {
    warnings->handler_(text);
  } else {
    print(text);
  }
}

}  // namespace hvd::autograd
