// SPDX-License-Identifier: Apache-2.0
// The spelling of bytes in the files of byte-level tokenizers (GPT-2's
// bytes_to_unicode): each byte is a printable character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hvd::data {

// The bytes that `spelled`, in UTF-8, stands for; nothing if a character stands
// for no byte.
std::optional<std::string> bytes_spelled(std::string_view spelled);

}  // namespace hvd::data
