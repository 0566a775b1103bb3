// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace test {

// Prints how many bytes twelve checkpointed blocks take at most, from forward to the end of
// backward; peak_memory.py does the same in Python. Under peak_memory.c.
void print_peak_memory();

}  // namespace test
