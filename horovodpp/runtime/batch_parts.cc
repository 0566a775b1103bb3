// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/batch_parts.h"

#include "absl/strings/str_cat.h"

namespace hvd::runtime {

absl::StatusOr<std::vector<BatchPart>> parts_of(
    const coordinator::Batch& batch,
    const std::vector<coordinator::SubmissionPtr>& submissions) {
  std::vector<BatchPart> parts;
  parts.reserve(batch.entries.size());
  std::size_t next = 0;
  for (const coordinator::Batch::Entry& entry : batch.entries) {
    const bool mine = entry.submitted_here;
    if (mine && next == submissions.size()) {
      next = submissions.size() + 1;
      break;
    }
    parts.push_back({.agreed = *entry.agreed,
                     .mine = mine ? submissions[next++].get() : nullptr});
  }
  if (next == submissions.size() && !parts.empty()) return parts;
  return absl::InternalError(absl::StrCat("a batch of ", batch.entries.size(),
                                          " entries does not fit ",
                                          submissions.size(), " submissions"));
}

}  // namespace hvd::runtime
