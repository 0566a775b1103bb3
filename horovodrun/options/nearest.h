// SPDX-License-Identifier: Apache-2.0
// The name that a user probably meant.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

// The name among `known` with the smallest edit distance (Levenshtein) to
// `name`, the first of several; "" if each differs in more than a third of the
// characters.
std::string nearest(absl::string_view name,
                    const std::vector<absl::string_view>& known);

// "; did you mean 'NAME'? See PAGE. ", or "; see PAGE. " for an empty name.
std::string suggestion(absl::string_view name, absl::string_view page);

}  // namespace hvd::launcher
