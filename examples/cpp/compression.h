// SPDX-License-Identifier: Apache-2.0
// The training programs' compressors, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <horovodpp/horovodpp.h>

struct Compression {
  // Null: no compression.
  std::shared_ptr<hvd::compression::Compressor> compressor = nullptr;
  bool has_momentum = false;  // The optimizer must then have none.
};

// "none", "fp16", "bf16", "int8", "powersgd=4", "signs" or "topk=0.01", where
// the number may be omitted. `steps` is the number of steps of an epoch;
// `momentum` is the optimizer's.
//   std::invalid_argument  no such compressor, or an invalid number
Compression make_compression(const std::string& text, std::int64_t steps,
                             double momentum);
