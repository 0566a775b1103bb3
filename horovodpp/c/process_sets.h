// SPDX-License-Identifier: Apache-2.0
// The process sets of the C interface's handles.
#pragma once

#include "absl/status/statusor.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::c {

//   InvalidArgument  no such handle
absl::StatusOr<ProcessSet> set_of(hvd_process_set handle);

}  // namespace hvd::c
