// SPDX-License-Identifier: Apache-2.0
// The options of elastic jobs.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/options/option_values.h"

namespace hvd::launcher {

// The name of an option that makes the job elastic; null: none is given.
const char* elastic_option(const OptionValues& options);

// Reads the terms that depend on no number of ranks.
//   InvalidArgument   options contradict each other, or name no script
absl::StatusOr<ElasticTerms> read_elastic_terms(const OptionValues& options);

// The slots without which the job does not start.
int least_slots(const OptionValues& options);

// Completes the terms of `arguments`, whose ranks have hosts.
//   InvalidArgument   the numbers of ranks contradict each other or the hosts
absl::Status read_elastic_sizes(const OptionValues& options,
                                Arguments& arguments);

// Lets the engine direct start the ranks of an elastic job.
//   InvalidArgument   another engine was named
absl::Status choose_elastic_engine(const OptionValues& options,
                                   Arguments& arguments);

}  // namespace hvd::launcher
