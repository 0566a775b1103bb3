// SPDX-License-Identifier: Apache-2.0
// Embeds the bytes of a file, and a zero after them, in the program:
//
//   HVD_EMBED(hvd_kernels, HVD_KERNELS_FILE);   // extern "C" const char hvd_kernels[];
#pragma once

#define HVD_EMBED(symbol, file)                                         \
  extern "C" const char symbol[] __attribute__((visibility("hidden"))); \
  asm(".pushsection .rodata\n"                                          \
      ".balign 16\n"                                                    \
      ".globl " #symbol                                                 \
      "\n"                                                              \
      ".hidden " #symbol "\n" #symbol                                   \
      ":\n"                                                             \
      ".incbin \"" file                                                 \
      "\"\n"                                                            \
      ".byte 0\n"                                                       \
      ".popsection\n")
