// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/file_error.h"

#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <ctime>

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

sigset_t only_xfsz() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

HVD_EXPORT absl::Status file_error(int error, const std::string& context) {
  return absl::Status(code_of(error),
                      absl::StrCat(context, ": ", std::strerror(error)));
}

HVD_EXPORT FileSizeSignal::FileSizeSignal() {
  const sigset_t set = only_xfsz();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// SIGXFSZ goes to the writing thread: consume any pending one.
HVD_EXPORT FileSizeSignal::~FileSizeSignal() {
  if (::sigismember(&before_, SIGXFSZ) == 1) return;
  const sigset_t set = only_xfsz();
  const timespec at_once = {.tv_sec = 0, .tv_nsec = 0};
  while (::sigtimedwait(&set, nullptr, &at_once) == SIGXFSZ) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace hvd
