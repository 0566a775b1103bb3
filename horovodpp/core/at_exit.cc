// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/at_exit.h"

#include <stdlib.h>

#include <atomic>

namespace hvd {
namespace {

std::atomic<void (*)(int, void*)> function{nullptr};

}  // namespace

void leave_at_exit(void (*leave)(int code, void*)) {
  function.store(leave);
  ::on_exit(leave, nullptr);
}

void renew_exit_order() {
  if (auto* const leave = function.load()) ::on_exit(leave, nullptr);
}

}  // namespace hvd
