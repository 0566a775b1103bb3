// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/file_error.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/export.h"

namespace hvd {
namespace {

absl::StatusCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EWOULDBLOCK:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

HVD_EXPORT absl::Status file_error(int error, const std::string& context) {
  return absl::Status(code_of(error),
                      absl::StrCat(context, ": ", std::strerror(error)));
}

}  // namespace hvd
