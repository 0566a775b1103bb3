// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/status.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/export.h"

namespace hvd {

HVD_EXPORT absl::Status annotate(const absl::Status& status,
                                 const std::string& context) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

absl::Status errno_error(const std::string& call) {
  return absl::InternalError(absl::StrCat(call, ": ", std::strerror(errno)));
}

}  // namespace hvd
