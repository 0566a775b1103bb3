// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace test {

// Prints the peak bytes of twelve checkpointed blocks, from forward to the end
// of backward; peak_memory.py does the same in Python. Run with peak_memory.c
// preloaded.
void print_peak_memory();

}  // namespace test
