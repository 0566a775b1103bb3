// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere (a file, its name, a name that a caller chose), for a
// message: every log and terminal can show it, and it can be taken as UTF-8. The
// messages of hvd::Error have gone through it.
#pragma once

#include <string>
#include <string_view>

namespace hvd {

// `text` with every byte that is no part of a UTF-8 character, and every control
// character but the end of a line and a tab, written as "\xNN".
std::string printable(std::string_view text);

}  // namespace hvd
