// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/waits_at_once.h"

#include "horovodpp/core/caller_state.h"

namespace hvd {

WaitsAtOnce::WaitsAtOnce() { ++caller_state.waits_at_once; }
WaitsAtOnce::~WaitsAtOnce() { --caller_state.waits_at_once; }
bool WaitsAtOnce::here() { return caller_state.waits_at_once > 0; }

}  // namespace hvd
