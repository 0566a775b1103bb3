// SPDX-License-Identifier: Apache-2.0
// The compressors that the training programs know by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <horovodpp/horovodpp.h>

struct Compression {
  // Null: none.
  std::shared_ptr<hvd::compression::Compressor> compressor = nullptr;
  bool has_momentum = false;  // So that the optimizer must have none.
};

// "none", "fp16", "bf16", "int8", "powersgd=4", "signs" or "topk=0.01", where the
// numbers may be left out. `steps` are those of an epoch; `momentum` is the
// optimizer's.
//   std::invalid_argument  there is no such compressor, or no such number of it
Compression make_compression(const std::string& text, std::int64_t steps,
                             double momentum);
