// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/settings/interruptible.h"

#include <utility>

namespace hvd {
namespace {

thread_local bool (*interrupted_here)() = nullptr;

}  // namespace

Interruptible::Interruptible(bool (*interrupted)())
    : previous_(std::exchange(interrupted_here, interrupted)) {}
Interruptible::~Interruptible() { interrupted_here = previous_; }

bool Interruptible::is_interrupted() {
  return interrupted_here != nullptr && interrupted_here();
}

}  // namespace hvd
