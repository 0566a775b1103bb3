// SPDX-License-Identifier: Apache-2.0
// The output streams that a rank's --local-ranks-filter and --redirects hide
// from the terminal. Agents learn the options' values from two variables.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

inline constexpr char kShownRanksVariable[] = "HOROVODRUN_SHOWN_RANKS";
inline constexpr char kRedirectsVariable[] = "HOROVODRUN_REDIRECTS";

// Bits, as in --redirects.
enum HiddenStream { kHiddenOutput = 1, kHiddenErrors = 2 };

// The streams that "3", for all ranks, or "0:1,1:3", by local rank, hides of
// the rank.
//   InvalidArgument   the text has another form
absl::StatusOr<int> redirected_streams(const std::string& text, int local_rank);

// The streams of the rank that the variables hide.
int hidden_streams(const Environment& environment, int local_rank);

}  // namespace hvd::launcher
