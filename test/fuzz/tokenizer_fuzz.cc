// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tokenizer's file: the reader returns or throws hvd::Error.
// An accepted tokenizer decodes what it has encoded.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "horovodpp/core/error.h"
#include "horovodpp/data/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = hvd::data::Tokenizer::of_json(bytes, "fuzz");
    for (const bool added : {false, true}) {
      const auto ids = tokenizer.encode("abcab a", {.added_tokens = added});
      if (tokenizer.decode(ids) != "abcab a") __builtin_trap();
    }
  } catch (const hvd::Error&) {  // The file, or the text, was refused.
  }
  return 0;
}
