// SPDX-License-Identifier: Apache-2.0
// The kernels on elements of tensors besides hvd_to, which converts between any
// two types. The macros call a macro with the name of each kernel, and with the
// type in which it computes, or whose size it moves.
#pragma once

#define HVD_APPLICATIONS(F)   \
  F(hvd_apply_float, float)   \
  F(hvd_apply_double, double) \
  F(hvd_apply_whole, std::int64_t)

#define HVD_COMPARISONS(F)      \
  F(hvd_compare_float, float)   \
  F(hvd_compare_double, double) \
  F(hvd_compare_whole, std::int64_t)

#define HVD_MOVES(F)           \
  F(hvd_move_1, std::uint8_t)  \
  F(hvd_move_2, std::uint16_t) \
  F(hvd_move_4, std::uint32_t) \
  F(hvd_move_8, std::uint64_t)
