// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/settings/waits_at_once.h"

#include "horovodpp/core/thread/caller_state.h"

namespace hvd {

WaitsAtOnce::WaitsAtOnce() { ++caller_state.waits_at_once; }
WaitsAtOnce::~WaitsAtOnce() { --caller_state.waits_at_once; }
bool WaitsAtOnce::here() { return caller_state.waits_at_once > 0; }

}  // namespace hvd
