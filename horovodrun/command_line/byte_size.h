// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

// The bytes of a text like "4096", "500K", "100M" or "2G", by powers of 1024,
// at least 1. nullopt: the text has another form, or names more than 2^62
// bytes.
std::optional<std::int64_t> parse_byte_size(absl::string_view text);

}  // namespace hvd::launcher
