// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/at_exit.h"

#include <stdlib.h>

#include <atomic>

namespace hvd {
namespace {

std::atomic<void (*)(int, void*)> g_leave{nullptr};

}  // namespace

void leave_at_exit(void (*leave)(int code, void*)) {
  g_leave.store(leave);
  ::on_exit(leave, nullptr);
}

void renew_exit_order() {
  if (auto* const leave = g_leave.load()) ::on_exit(leave, nullptr);
}

}  // namespace hvd
