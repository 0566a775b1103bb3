// SPDX-License-Identifier: Apache-2.0
// The values of options about the ranks' output.
#pragma once

#include "absl/status/statusor.h"
#include "horovodrun/options/option_values.h"
#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/log_file.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Of --tag-output and --prefix-output-with-timestamp; the colors that this
// process's streams take.
PrefixStyle read_prefix(const OptionValues& options,
                        const Environment& environment);

// Of --log-max-size and --log-files.
//   InvalidArgument   there are no files to limit, or the size has another form
absl::StatusOr<LogLimits> read_log_limits(const OptionValues& options);

}  // namespace hvd::launcher
