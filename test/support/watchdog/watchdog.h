// SPDX-License-Identifier: Apache-2.0
// Ends this process if a task takes too long. First writes the stacks of all
// threads to standard error, and ends the process's descendants. For a thread
// that is stopped or blocked in the kernel, the report says where it waits.
//
//   hvd_watch("Suite.Case", 60);   // Seconds.
//   ...
//   hvd_watch("what comes next", 60);
//
// The watchdog uses no thread, and no signal that a program knows. A timer
// sends the signal with which glibc makes threads change their user; no thread
// can block it. A forked child is not watched. In plain C, so that Python can
// load it.
#pragma once

extern "C" {

// Restarts the limit for `what`. Call from one thread.
void hvd_watch(const char* name, int seconds);

// Redirects the stacks from standard error.
void hvd_watch_writes_to(int descriptor);

}  // extern "C"
