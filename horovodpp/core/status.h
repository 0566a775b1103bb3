// SPDX-License-Identifier: Apache-2.0
// Helpers for errors inside the library. The communication half passes
// absl::Status and absl::StatusOr, which become hvd::Status and hvd::StatusOr
// (outcome.h) at the public API. Autograd and the optimizer throw hvd::Error
// (error.h).
//
//   HVD_ASSIGN_OR_RETURN(Segment segment, Segment::create(bytes));
//   HVD_RETURN_IF_ERROR(segment.map());
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/outcome.h"

namespace hvd {

// `status` with "<context>: " before its text; OK stays OK.
absl::Status annotate(const absl::Status& status, const std::string& context);

// An Internal error "<call>: <text of errno>", for a failed system call.
absl::Status errno_error(const std::string& call);

}  // namespace hvd

#define HVD_CONCAT_INNER(a, b) a##b
#define HVD_CONCAT(a, b) HVD_CONCAT_INNER(a, b)

#define HVD_RETURN_IF_ERROR(expression)                           \
  do {                                                            \
    if (absl::Status hvd_status = (expression); !hvd_status.ok()) \
      return hvd_status;                                          \
  } while (false)

#define HVD_ASSIGN_OR_RETURN(declaration, expression)                    \
  HVD_ASSIGN_OR_RETURN_INNER(HVD_CONCAT(hvd_or_, __LINE__), declaration, \
                             expression)
#define HVD_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = *std::move(result)
