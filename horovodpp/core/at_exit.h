// SPDX-License-Identifier: Apache-2.0
// The order in which exit handlers run: the last one registered is the first. A library that is
// loaded, or first used, after the job was entered has handlers that would run before the job
// is left, and the job cannot use that library then.
#pragma once

namespace hvd {

// Has the C library call `leave` when the process exits, as on_exit() does; for one function
// of the process. It may be called several times.
void leave_at_exit(void (*leave)(int code, void*));

// Has the function, if there is one, called before all handlers that have been registered by
// now. Thread-safe.
void renew_exit_order();

}  // namespace hvd
