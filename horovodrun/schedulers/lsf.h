// SPDX-License-Identifier: Apache-2.0
// IBM Spectrum LSF.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// From LSB_MCPU_HOSTS ("hostA 2 hostB 4") or else, as LSF omits long lists,
// from the file that LSB_DJOB_HOSTFILE names: a line for each slot. Empty
// without either.
absl::StatusOr<std::vector<Host>> lsf_hosts(const Environment& environment);

}  // namespace hvd::launcher
