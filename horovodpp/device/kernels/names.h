// SPDX-License-Identifier: Apache-2.0
// The kernels besides hvd_copy and hvd_judge: HVD_CONVERSIONS, HVD_LOOKS and
// HVD_REDUCTIONS call a macro with the name of each, and with its element
// types.
#pragma once

#define HVD_CONVERSIONS(F)                               \
  F(hvd_convert_f16_f16, Halves, Halves)                 \
  F(hvd_convert_f16_f32, Halves, Numbers<float>)         \
  F(hvd_convert_bf16_bf16, BrainHalves, BrainHalves)     \
  F(hvd_convert_bf16_f32, BrainHalves, Numbers<float>)   \
  F(hvd_convert_f32_f16, Numbers<float>, Halves)         \
  F(hvd_convert_f32_bf16, Numbers<float>, BrainHalves)   \
  F(hvd_convert_f32_f32, Numbers<float>, Numbers<float>) \
  F(hvd_convert_f64_f64, Numbers<double>, Numbers<double>)

#define HVD_LOOKS(F)              \
  F(hvd_look_f16, Halves)         \
  F(hvd_look_bf16, BrainHalves)   \
  F(hvd_look_f32, Numbers<float>) \
  F(hvd_look_f64, Numbers<double>)

#define HVD_REDUCTIONS(F)                  \
  F(hvd_reduce_u8, Numbers<std::uint8_t>)  \
  F(hvd_reduce_i8, Numbers<std::int8_t>)   \
  F(hvd_reduce_i16, Numbers<std::int16_t>) \
  F(hvd_reduce_i32, Numbers<std::int32_t>) \
  F(hvd_reduce_i64, Numbers<std::int64_t>) \
  F(hvd_reduce_f16, Halves)                \
  F(hvd_reduce_bf16, BrainHalves)          \
  F(hvd_reduce_f32, Numbers<float>)        \
  F(hvd_reduce_f64, Numbers<double>)       \
  F(hvd_reduce_bool, Truths)
