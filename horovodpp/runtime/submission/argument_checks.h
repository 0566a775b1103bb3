// SPDX-License-Identifier: Apache-2.0
// Checks a caller's arguments before they leave this rank. An impossible
// request would reach the peers as invalid mail, and break the job for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/submission.h"

namespace hvd::runtime {

// An InvalidArgument "allreduce of 'x': <why>".
absl::Status refuse(const coordinator::Request& request,
                    const std::string& why);

// Checks a complete request on tensors, and its inputs.
//   InvalidArgument  no tensors; an unknown dtype, op or device; an impossible
//                    shape; elements without memory; a scale that is not a
//                    finite number; a reduction without meaning
//   Unimplemented    no plane reaches the device of the memory
absl::Status check_tensors(const coordinator::Submission& submission);

// Checks an alltoall's rows for each of `ranks` ranks.
absl::Status check_splits(const coordinator::Request& request,
                          const std::vector<std::int64_t>& splits,
                          std::size_t ranks);

// Whether `result` fits the output of an operation on one tensor: `shape`, or,
// if that is unknown, any number of rows like the input's.
absl::Status check_result(const coordinator::Submission& submission,
                          const TensorView& result,
                          const std::optional<Shape>& shape);

}  // namespace hvd::runtime
