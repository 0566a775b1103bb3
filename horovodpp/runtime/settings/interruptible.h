// SPDX-License-Identifier: Apache-2.0
// An Interruptible ends this thread's wait in init(). While it exists, the wait
// of a newcomer for its place in a job fails with Cancelled once `interrupted`
// returns true. Otherwise an interpreter's signal handlers could not end a wait
// that has no limit:
//
//   const hvd::Interruptible scope(&handler_has_raised);
//   const hvd::Status status = hvd::init(config);      // Cancelled
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class Interruptible {
 public:
  // `interrupted` is called on this thread, several times a second.
  explicit Interruptible(bool (*interrupted)());
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Calls `interrupted` of this thread's innermost Interruptible; false without
  // an Interruptible.
  static bool is_interrupted();

 private:
  bool (*const previous_)();
};

}  // namespace hvd
