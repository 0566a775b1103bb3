// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/waits_at_once.h"

namespace hvd {
namespace {

thread_local int at_once_depth = 0;

}  // namespace

WaitsAtOnce::WaitsAtOnce() { ++at_once_depth; }
WaitsAtOnce::~WaitsAtOnce() { --at_once_depth; }
bool WaitsAtOnce::here() { return at_once_depth > 0; }

}  // namespace hvd
