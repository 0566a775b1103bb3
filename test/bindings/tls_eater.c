// SPDX-License-Identifier: Apache-2.0
// Each loaded copy of this library uses a little of the memory for thread
// locals of libraries that are loaded late.
static __thread char eaten[16] __attribute__((tls_model("initial-exec")));

char* eat(void) { return eaten; }
