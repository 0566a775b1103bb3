// SPDX-License-Identifier: Apache-2.0
// The process sets that C has handles of.
#pragma once

#include "absl/status/statusor.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::c {

//   InvalidArgument  it is of none
absl::StatusOr<ProcessSet> set_of(hvd_process_set handle);

}  // namespace hvd::c
