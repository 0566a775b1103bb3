// SPDX-License-Identifier: Apache-2.0
// Long texts about all options, from the table (option.h).
#pragma once

#include <string>

namespace hvd::launcher {

// The manual page horovodrun(1), in the format of man(7).
std::string manual_page();

// The tables of docs/horovodrun_options.md, in Markdown.
std::string options_table();

}  // namespace hvd::launcher
