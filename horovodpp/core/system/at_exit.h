// SPDX-License-Identifier: Apache-2.0
// Controls the order of exit handlers: the last one registered runs first. A
// library loaded or first used after hvd::init() has handlers that would run
// before the job is left. The job could not use that library while leaving.
#pragma once

namespace hvd {

// Registers `leave` to be called when the process exits, as on_exit() does. For
// one function of the process, which may be registered several times.
void leave_at_exit(void (*leave)(int code, void*));

// Moves the registered function, if any, ahead of all handlers registered so
// far. Thread-safe.
void renew_exit_order();

}  // namespace hvd
