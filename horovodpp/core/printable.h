// SPDX-License-Identifier: Apache-2.0
// Makes foreign text (a file's content or name, a caller's name) safe for
// messages: valid UTF-8 that every log and terminal can show. Messages of
// hvd::Error are printable.
#pragma once

#include <string>
#include <string_view>

namespace hvd {

// `text` with these bytes written as "\xNN": bytes outside UTF-8 characters,
// and control characters other than newline and tab.
std::string printable(std::string_view text);

}  // namespace hvd
