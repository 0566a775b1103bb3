// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/output_options.h"

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/command_line/byte_size.h"
#include "horovodrun/terminal/terminal_color.h"

namespace hvd::launcher {

PrefixStyle read_prefix(const OptionValues& options,
                        const Environment& environment) {
  const bool has_time = options.has("--prefix-output-with-timestamp");
  return {.is_on = has_time || options.has("--tag-output"),
          .has_time = has_time,
          .colors_output = takes_colors(STDOUT_FILENO, environment),
          .colors_errors = takes_colors(STDERR_FILENO, environment)};
}

absl::StatusOr<LogLimits> read_log_limits(const OptionValues& options) {
  LogLimits limits;
  const bool has_size = options.has("--log-max-size");
  if (!has_size && !options.has("--log-files")) return limits;
  const char* given = has_size ? "--log-max-size" : "--log-files";
  if (!options.has("--output-filename")) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " limits files; name their folder with --log-dir"));
  }
  if (!has_size) {
    return absl::InvalidArgumentError(
        "--log-files needs the size of a file; give --log-max-size");
  }
  const std::string text = options.text("--log-max-size");
  const std::optional<std::int64_t> bytes = parse_byte_size(text);
  if (!bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--log-max-size is '", text,
        "'; give a number of bytes from 1, or of K, M or G, as in 100M"));
  }
  limits.max_bytes = *bytes;
  limits.files = static_cast<int>(options.count("--log-files", limits.files));
  return limits;
}

}  // namespace hvd::launcher
