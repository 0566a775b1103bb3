// SPDX-License-Identifier: Apache-2.0
// A library whose every loaded copy takes some of the memory for thread locals
// of libraries that are loaded late.
static __thread char eaten[16] __attribute__((tls_model("initial-exec")));

char* eat(void) { return eaten; }
