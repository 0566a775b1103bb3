// SPDX-License-Identifier: Apache-2.0
// `horovodrun --describe-host [FOLDER]`, the other end of a HostProbe: makes the
// folder for output, writes this host's facts, reads targets (reach.h), and writes those that it reaches. It ends with
// its input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/preflight/reach.h"

namespace hvd::launcher {

inline constexpr char kDescribeHost[] = "--describe-host";

// Returns the exit code. `folder` is empty if there is none.
int describe_host(const std::string& folder);

// The lines that ask for `targets`, and the line that answers for one.
std::string target_lines(const std::vector<ReachTarget>& targets);
std::optional<ReachTarget> parse_target(absl::string_view line);
std::string reached_line(std::size_t target);
std::optional<std::size_t> parse_reached(absl::string_view line);

}  // namespace hvd::launcher
