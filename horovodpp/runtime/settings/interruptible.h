// SPDX-License-Identifier: Apache-2.0
// While an Interruptible exists, a newcomer's wait for its place in a job, on
// this thread, ends once `interrupted` says so. A wait without a limit would
// otherwise leave the signals of an interpreter unheard:
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

  // Whether the innermost one on this thread is interrupted.
  static bool is_interrupted();

 private:
  bool (*const previous_)();
};

}  // namespace hvd
