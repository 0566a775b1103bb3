// SPDX-License-Identifier: Apache-2.0
// `horovodrun --describe-host [FOLDER|--details]`, the other end of a
// HostProbe: makes the folder for output, writes this host's facts, reads
// targets (reach.h), and writes the reached targets. It ends with its input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/preflight/reach.h"

namespace hvd::launcher {

inline constexpr char kDescribeHost[] = "--describe-host";
inline constexpr char kDetails[] = "--details";

// Returns the exit code. `wish` is a folder, kDetails or empty.
int describe_host(const std::string& wish);

// The lines that ask for `targets`, and the line that answers for one.
std::string target_lines(const std::vector<ReachTarget>& targets);
std::optional<ReachTarget> parse_target(absl::string_view line);
std::string reached_line(std::size_t target);
std::optional<std::size_t> parse_reached(absl::string_view line);

}  // namespace hvd::launcher
