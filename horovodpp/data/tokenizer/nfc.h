// SPDX-License-Identifier: Apache-2.0
// Unicode's normalization form C: characters and their accents as one code point
// where there is one (Unicode Standard Annex 15).
#pragma once

#include <string>
#include <string_view>

namespace hvd::data {

// `text` in UTF-8, normalized. Bytes that are no UTF-8 stay.
std::string nfc(std::string_view text);

}  // namespace hvd::data
