// SPDX-License-Identifier: Apache-2.0
// The file of --config-file: options in YAML, in sections, with Horovod's keys.
//
//   controller: mpi
//   params:
//     fusion_threshold_mb: 64
//     hierarchical_allreduce: false
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/options/option_values.h"

namespace hvd::launcher {

// Reads the text of such a file. A key without a value counts as absent.
//   InvalidArgument   the text is no YAML, a key is unknown, or a value does not
//                     fit; names the key, and the nearest known one
absl::StatusOr<OptionValues> parse_config(const std::string& text);

}  // namespace hvd::launcher
