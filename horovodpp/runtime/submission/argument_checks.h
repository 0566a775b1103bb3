// SPDX-License-Identifier: Apache-2.0
// What a caller may not ask for, found before anything leaves this rank: what
// one rank cannot mean would reach its peers as mail that makes no sense, and
// break the job for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/submission.h"

namespace hvd::runtime {

// An InvalidArgument "allreduce of 'x': <why>".
absl::Status refuse(const coordinator::Request& request,
                    const std::string& why);

// The request of a submission on tensors, which is complete, and its inputs.
//   InvalidArgument  no tensors; an unknown dtype, op or device; a
//                    shape that cannot be; elements without memory; a scale
//                    that is no finite number; a reduction without meaning
//   Unimplemented    the memory is on a device that no plane reaches
absl::Status check_tensors(const coordinator::Submission& submission);

// The rows of an alltoall for each of `ranks` ranks.
absl::Status check_splits(const coordinator::Request& request,
                          const std::vector<std::int64_t>& splits,
                          std::size_t ranks);

// Whether `result` can take what an operation makes of its only tensor: one of
// `shape`, or rows as its own, of a number yet to be seen.
absl::Status check_result(const coordinator::Submission& submission,
                          const TensorView& result,
                          const std::optional<Shape>& shape);

}  // namespace hvd::runtime
