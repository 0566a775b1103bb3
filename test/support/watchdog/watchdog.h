// SPDX-License-Identifier: Apache-2.0
// Ends this process if it takes too long for something. Before that it writes the
// stacks of all of its threads to standard error, and ends its descendants. A thread
// that waits in the kernel for good, or is stopped, is named with where it waits.
//
//   hvd_watch("Suite.Case", 60);   // Seconds.
//   ...
//   hvd_watch("what comes next", 60);
//
// There is no thread for it, and no signal that a program knows: a timer sends that
// with which glibc asks threads to change their user, which none can block.
// A forked child is not watched. In plain C, so that Python can load it.
#pragma once

extern "C" {

// Begins anew, for `what`. To be called by one thread.
void hvd_watch(const char* what, int seconds);

// Where the stacks go instead of standard error.
void hvd_watch_writes_to(int descriptor);

}  // extern "C"
